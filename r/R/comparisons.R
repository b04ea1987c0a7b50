# Data frames of comparisons as R users have them, as the table that `tiewise fit` reads.

# One row a judgement: who was compared with whom, and which was chosen.
judgement_table <- function(data, player1, player2, outcome, judge = NULL) {
  first <- labels_of(column(data, player1, "player1"))
  second <- labels_of(column(data, player2, "player2"))
  answer <- column(data, outcome, "outcome")
  chosen <- chosen_item(answer, first, second, outcome)
  table <- data.frame(
    comparison_id = seq_along(first),
    user_id = if (is.null(judge)) "" else labels_of(column(data, judge, "judge")),
    item_1_id = first,
    item_2_id = second,
    selected_item_id = ifelse(is.na(chosen), "", chosen),
    state = ifelse(is.na(answer), "skipped", ifelse(is.na(chosen), "tied", "selected"))
  )
  cbind(table, data[setdiff(names(data), c(player1, player2, outcome, judge, names(table)))])
}

# One row a pair: how often each was chosen.
count_table <- function(data, player1, player2, wins1, wins2, ties = NULL) {
  counts <- data.frame(
    item_1 = labels_of(column(data, player1, "player1")),
    item_2 = labels_of(column(data, player2, "player2")),
    wins_1 = column(data, wins1, "wins1"),
    wins_2 = column(data, wins2, "wins2")
  )
  counts$ties <- if (is.null(ties)) 0L else column(data, ties, "ties")
  counts
}

column <- function(data, name, argument) {
  if (!is.character(name) || length(name) != 1 || !name %in% names(data)) {
    stop("`", argument, "` should name a column of `data`: ", paste(names(data), collapse = ", "),
         ". What came is ", deparse(name)[[1]], ".", call. = FALSE)
  }
  data[[name]]
}

# Numbers keep all their digits, factors their labels.
labels_of <- function(values) {
  if (is.numeric(values)) return(format(values, digits = 15, scientific = FALSE, trim = TRUE))
  as.character(values)
}

# The chosen item of each row; NA is a tie, or no answer where the outcome is NA itself.
chosen_item <- function(answer, first, second, name) {
  if (is.logical(answer)) answer <- as.numeric(answer)
  if (is.numeric(answer) && all(answer %in% c(0, 0.5, 1, NA))) {
    return(ifelse(answer == 1, first, ifelse(answer == 0, second, NA_character_)))
  }
  word <- labels_of(answer)
  chosen <- ifelse(word %in% c("player1", "first", "win"), first,
            ifelse(word %in% c("player2", "second", "loss"), second, word))
  tie <- word %in% c("tie", "tied", "draw", "equal")
  strange <- which(!is.na(word) & !tie & chosen != first & chosen != second)
  if (length(strange)) {
    row <- strange[[1]]
    stop("Row ", row, ": ", name, " is ", dQuote(word[[row]], FALSE), ", which is neither ",
         first[[row]], " nor ", second[[row]], ". An outcome is 1 (the first was chosen), 0 (the ",
         "second), 0.5 (a tie), TRUE, FALSE, \"player1\", \"player2\", \"tie\", or the name of the ",
         "chosen one; NA is no answer.", call. = FALSE)
  }
  ifelse(tie, NA_character_, chosen)
}

# The pairs of neighbours of an adjacency matrix whose names are those of the items.
edge_table <- function(adjacency) {
  adjacency <- as.matrix(adjacency)
  names <- rownames(adjacency)
  if (is.null(names)) names <- colnames(adjacency)
  if (is.null(names)) {
    stop("`adjacency` needs the names of items as its row names.", call. = FALSE)
  }
  if (nrow(adjacency) != ncol(adjacency) || !isTRUE(all.equal(adjacency, t(adjacency), check.attributes = FALSE))) {
    stop("`adjacency` should be symmetric: who borders whom is a matter of both.", call. = FALSE)
  }
  if (!all(adjacency %in% c(0, 1))) {
    stop("`adjacency` should hold 0 and 1.", call. = FALSE)
  }
  if (any(diag(adjacency) != 0)) {
    stop("`adjacency` has items that border themselves: its diagonal should be 0.", call. = FALSE)
  }
  where <- which(adjacency != 0 & upper.tri(adjacency), arr.ind = TRUE)
  lone <- names[rowSums(adjacency != 0) == 0]
  if (length(lone)) {
    message("Without neighbours, so in the fit only where they were compared: ",
            paste(lone, collapse = ", "))
  }
  data.frame(item_1 = names[where[, 1]], item_2 = names[where[, 2]])
}

write_table <- function(table, path) {
  utils::write.csv(table, path, row.names = FALSE, na = "", fileEncoding = "UTF-8")
  path
}
