# The command `tiewise`: where it is, how arguments of R become its options, and how it is called.

#' The words that start the command.
tw_command <- function() {
  chosen <- getOption("tiewise.command", Sys.getenv("TIEWISE", unset = ""))
  if (!nzchar(chosen)) chosen <- Sys.which("tiewise")[[1]]
  if (!nzchar(chosen)) {
    stop("The command tiewise was not found. Install it (pip install tiewise), or say where it is: ",
         "options(tiewise.command = \"/path/to/tiewise\")", call. = FALSE)
  }
  path.expand(chosen)
}

# list(variance_prior = "half-normal(2)", robust = TRUE) -> --variance-prior half-normal(2) --robust
as_options <- function(arguments) {
  if (length(arguments) && (is.null(names(arguments)) || any(!nzchar(names(arguments))))) {
    stop("Further arguments are options of `tiewise fit` and need names, such as draws = 4000.",
         call. = FALSE)
  }
  unlist(Map(one_option, names(arguments), arguments), use.names = FALSE)
}

one_option <- function(name, value) {
  flag <- paste0("--", gsub("_", "-", name))
  if (is.null(value) || isFALSE(value)) return(character())
  if (isTRUE(value)) return(flag)
  if (length(value) != 1 || is.na(value)) {
    stop("`", name, "` should be one value, not ", length(value), ".", call. = FALSE)
  }
  c(flag, if (is.numeric(value)) format(value, digits = 15, scientific = FALSE) else value)
}

# Runs the command; what it says of an error is the message of the error in R.
run_command <- function(words) {
  messages <- tempfile("tiewise-", fileext = ".txt")
  on.exit(unlink(messages))
  status <- system2(tw_command(), shQuote(words), stdout = FALSE, stderr = messages,
                    env = command_environment())
  lines <- if (file.exists(messages)) readLines(messages, warn = FALSE, encoding = "UTF-8") else ""
  if (status != 0) stop(error_line(lines, status), call. = FALSE)
  invisible(lines)
}

# R puts its own library folders before those of the system. A Python that brings its libpython
# would be given the system's, and could not load its modules.
command_environment <- function(path = Sys.getenv("LD_LIBRARY_PATH"),
                                system = Sys.info()[["sysname"]]) {
  if (system != "Linux" || !nzchar(path)) return(character())
  folders <- strsplit(path, ":", fixed = TRUE)[[1]]
  by_r <- folders == R.home("lib") | grepl("^(/usr)?/lib(64)?(/[^/]+-linux-[^/]+)?$", folders)
  paste0("LD_LIBRARY_PATH=", shQuote(paste(folders[!by_r], collapse = ":")))
}

error_line <- function(lines, status) {
  lines <- lines[nzchar(trimws(lines))]
  if (!length(lines)) return(paste0("tiewise ended with status ", status, " and said nothing."))
  paste(sub("^Error: ", "", lines), collapse = "\n")
}
