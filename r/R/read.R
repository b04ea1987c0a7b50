# tw_read: a results folder, whoever made it.

tw_read <- function(folder) {
  paths <- file.path(folder, c("items.csv", "parameters.csv", "fit.json", "study.json"))
  missing <- basename(paths)[!file.exists(paths)]
  if (length(missing)) {
    stop(folder, " is no results folder of tiewise: it has no ", paste(missing, collapse = ", "), ".",
         call. = FALSE)
  }
  structure(
    list(
      items = read_table(paths[[1]], text = c("item", "name", "group")),
      parameters = read_table(paths[[2]], text = "parameter"),
      facts = jsonlite::read_json(paths[[3]], simplifyVector = TRUE),
      wording = jsonlite::read_json(paths[[4]], simplifyVector = TRUE),
      folder = normalizePath(folder)
    ),
    class = "tw_fit"
  )
}

# Ids of items are text, whatever they look like: 07 is not 7.
read_table <- function(path, text) {
  header <- names(utils::read.csv(path, nrows = 1, check.names = FALSE, encoding = "UTF-8"))
  classes <- stats::setNames(rep("character", length(intersect(text, header))), intersect(text, header))
  utils::read.csv(path, check.names = FALSE, colClasses = classes, encoding = "UTF-8")
}

# All draws as an array of draws by chains by variables.
draws_array <- function(fit) {
  needs("ncdf4")
  path <- file.path(fit$folder, "posterior.nc")
  if (!file.exists(path)) {
    stop(fit$folder, " holds no draws (posterior.nc): ", fit$facts$engine, " made none.", call. = FALSE)
  }
  file <- ncdf4::nc_open(path)
  on.exit(ncdf4::nc_close(file))
  of_posterior <- grep("^posterior/", names(file$var), value = TRUE)
  columns <- lapply(setdiff(of_posterior, "posterior/level"), one_variable, file = file)
  bind_variables(columns)
}

# A variable as a list of matrices (draw by chain), named as `posterior` names them: quality[Ashby].
one_variable <- function(variable, file) {
  values <- ncdf4::ncvar_get(file, variable, collapse_degen = FALSE)
  dimensions <- sub("^posterior/", "", vapply(file$var[[variable]]$dim, `[[`, "", "name"))
  name <- sub("^posterior/", "", variable)
  if (length(dimensions) == 2) return(stats::setNames(list(values), name))
  if (length(dimensions) > 3) return(list())
  labels <- file$dim[[paste0("posterior/", dimensions[[1]])]]$vals
  slices <- lapply(seq_along(labels), function(k) array(values[k, , ], dim(values)[2:3]))
  stats::setNames(slices, paste0(name, "[", labels, "]"))
}

bind_variables <- function(columns) {
  columns <- unlist(columns, recursive = FALSE)
  shape <- dim(columns[[1]])
  array(
    unlist(columns, use.names = FALSE), c(shape, length(columns)),
    dimnames = list(iteration = NULL, chain = NULL, variable = names(columns))
  )
}
