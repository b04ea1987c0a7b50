# tw_fit: comparisons to a posterior, by the command `tiewise fit`.

tw_fit <- function(data, player1 = "player1", player2 = "player2", outcome = "outcome", ...,
                   wins1 = NULL, wins2 = NULL, ties = NULL, judge = NULL,
                   formula = NULL, covariates = NULL,
                   adjacency = NULL, areas = NULL, id = NULL, name = NULL,
                   seed = NULL, out = tempfile("tiewise-")) {
  if (!is.data.frame(data)) {
    stop("`data` should be a data frame with a row for each comparison, not ", class(data)[[1]], ".",
         call. = FALSE)
  }
  input <- tempfile("tiewise-input-")
  dir.create(input)
  on.exit(unlink(input, recursive = TRUE))
  table <- if (is.null(wins1)) {
    judgement_table(data, player1, player2, outcome, judge)
  } else {
    count_table(data, player1, player2, wins1, wins2, ties)
  }
  files <- c(
    comparisons_file(table, input),
    formula_words(formula, covariates, input),
    neighbour_words(adjacency, areas, id, name, input)
  )
  seed <- if (is.null(seed)) sample.int(.Machine$integer.max, 1) else seed
  further <- as_options(list(...))
  report <- if (any(c("--robust", "--png") %in% further)) character() else "--no-report"
  run_command(c("fit", files, further, report, one_option("seed", seed), "--out", out))
  fit <- tw_read(out)
  fit$call <- match.call()
  fit
}

comparisons_file <- function(table, folder) write_table(table, file.path(folder, "comparisons.csv"))

# What may explain quality: ~ deprivation + log(population), of a table with a column `item`.
formula_words <- function(formula, covariates, folder) {
  if (is.null(formula)) return(character())
  if (!inherits(formula, "formula") || length(formula) != 2) {
    stop("`formula` has a right side alone, such as ~ deprivation + log(population): what may ",
         "explain quality.", call. = FALSE)
  }
  words <- c("--formula", paste(deparse(formula[[2]], width.cutoff = 500), collapse = " "))
  if (is.null(covariates)) return(words)
  c(words, "--covariates", write_table(covariates, file.path(folder, "covariates.csv")))
}

# Who borders whom: a matrix of 0 and 1, or the map itself.
neighbour_words <- function(adjacency, areas, id, name, folder) {
  if (!is.null(adjacency) && !is.null(areas)) {
    stop("Give `adjacency` or `areas`, not both: neighbours of areas are read from the map.",
         call. = FALSE)
  }
  if (!is.null(adjacency)) {
    return(c("--edges", write_table(edge_table(adjacency), file.path(folder, "neighbours.csv"))))
  }
  if (is.null(areas)) return(character())
  c("--areas", map_file(areas, folder), one_option("id", id), one_option("name", name))
}

map_file <- function(areas, folder) {
  if (is.character(areas)) return(path.expand(areas))
  if (!inherits(areas, "sf")) {
    stop("`areas` should be an sf data frame or the path of a map file.", call. = FALSE)
  }
  needs("sf")
  path <- file.path(folder, "areas.gpkg")
  sf::st_write(areas, path, quiet = TRUE)
  path
}

needs <- function(package) {
  if (!requireNamespace(package, quietly = TRUE)) {
    stop("This needs the package ", package, ": install.packages(\"", package, "\")", call. = FALSE)
  }
}
