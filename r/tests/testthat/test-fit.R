bus_stops <- data.frame(
  player1 = c("Mill Lane", "Mill Lane", "Mill Lane", "Castle", "Castle", "Harbour"),
  player2 = c("Castle", "Harbour", "Station", "Harbour", "Station", "Station"),
  home = c(5, 6, 6, 3, 4, 4), away = c(2, 1, 1, 2, 2, 3), equal = c(1, 1, 1, 3, 2, 1)
)

# A row for each answer, in every way that an outcome can be written.
as_answers <- function(words) {
  rows <- rep(seq_len(nrow(bus_stops)), rowSums(bus_stops[3:5]))
  kinds <- unlist(lapply(seq_len(nrow(bus_stops)), function(k) rep(1:3, bus_stops[k, 3:5])))
  answers <- bus_stops[rows, c("player1", "player2")]
  answers$outcome <- words[kinds]
  answers
}

fitted_twice <- function(...) {
  folder <- tempfile()
  tw_fit(..., seed = 1, out = folder)
}

test_that("a fit is that of the command, to the last digit written", {
  skip_if_not(nzchar(Sys.getenv("TIEWISE_DATA")), "real studies are not beside this checkout")
  file <- file.path(Sys.getenv("TIEWISE_DATA"), "south-yorkshire-comparisons.csv")
  judged <- read.csv(file, colClasses = "character")
  answers <- data.frame(
    player1 = judged$item_1_id, player2 = judged$item_2_id, judge = judged$user_id,
    outcome = ifelse(judged$state == "tied", "tie", judged$selected_item_id)
  )
  fit <- tw_fit(answers, judge = "judge", seed = 1)
  direct <- tempfile()
  run_command(c("fit", file, "--seed", "1", "--no-report", "--out", direct))
  for (table in c("items.csv", "parameters.csv")) {
    expect_identical(readLines(file.path(fit$folder, table)), readLines(file.path(direct, table)))
  }
  expect_identical(fit$facts$digest, tw_read(direct)$facts$digest)
})

test_that("answers in any spelling, and counts, are the same study", {
  counted <- fitted_twice(bus_stops, wins1 = "home", wins2 = "away", ties = "equal")
  for (words in list(c(1, 0, 0.5), c("player1", "player2", "tie"), c("win", "loss", "draw"))) {
    expect_identical(fitted_twice(as_answers(words))$items, counted$items)
  }
  by_name <- as_answers(c("player1", "player2", "tie"))
  by_name$outcome <- ifelse(by_name$outcome == "tie", "tie", as.character(
    ifelse(by_name$outcome == "player1", by_name$player1, by_name$player2)))
  expect_identical(fitted_twice(by_name)$items, counted$items)
})

test_that("who wins more often has the higher quality", {
  fit <- fitted_twice(bus_stops, wins1 = "home", wins2 = "away", ties = "equal")
  expect_identical(names(coef(fit))[[1]], "Mill Lane")
  expect_equal(sum(coef(fit)), 0, tolerance = 1e-8)
})

test_that("an answer that is none of these is named with its row and the way out", {
  wrong <- data.frame(player1 = "a", player2 = "b", outcome = "c")
  expect_error(tw_fit(wrong), "Row 1: outcome is \"c\", which is neither a nor b")
  expect_error(tw_fit(wrong, player1 = "home"), "should name a column")
  expect_error(tw_fit(list(1)), "should be a data frame")
})

test_that("an error of the command is the message", {
  expect_error(fitted_twice(bus_stops, wins1 = "home", wins2 = "away", prior = "circular"), "circular")
  expect_error(tw_fit(bus_stops, "player1", "player2", "outcome", 3, wins1 = "home", wins2 = "away"),
               "need names")
})

test_that("neighbours come as a matrix or as a map", {
  items <- c("Mill Lane", "Castle", "Harbour", "Station")
  adjacency <- matrix(0, 4, 4, dimnames = list(items, items))
  adjacency[cbind(1:3, 2:4)] <- adjacency[cbind(2:4, 1:3)] <- 1
  with_edges <- fitted_twice(bus_stops, wins1 = "home", wins2 = "away", ties = "equal",
                             adjacency = adjacency)
  expect_identical(with_edges$facts$model$quality$kind, "network")
  expect_error(edge_table(adjacency * upper.tri(adjacency)), "symmetric")
  expect_error(edge_table(adjacency / 2), "0 and 1")
  expect_error(edge_table(unname(adjacency)), "row names")

  skip_if_not_installed("sf")
  square <- function(left) {
    corners <- cbind(left + c(0, 1, 1, 0, 0), c(0, 0, 1, 1, 0)) * 1000
    sf::st_polygon(list(corners))
  }
  towns <- sf::st_sf(town = items, geometry = sf::st_sfc(lapply(0:3, square), crs = 27700))
  mapped <- fitted_twice(bus_stops, wins1 = "home", wins2 = "away", ties = "equal", areas = towns,
                         id = "town")
  # The map has another order of items, so other draws: equal within five Monte Carlo errors.
  error <- max(mapped$items$sd) * sqrt(2 / min(mapped$facts$ess_min, with_edges$facts$ess_min))
  expect_lt(max(abs(coef(mapped)[items] - coef(with_edges)[items])), 5 * error)
  map <- tw_map(mapped, plot = FALSE)
  expect_s3_class(map, "sf")
  expect_setequal(map$item, items)
})

test_that("a formula speaks of columns of a table of items", {
  covariates <- data.frame(item = c("Mill Lane", "Castle", "Harbour", "Station"), lamps = c(9, 5, 4, 1))
  fit <- fitted_twice(bus_stops, wins1 = "home", wins2 = "away", ties = "equal",
                      formula = ~ log(lamps), covariates = covariates)
  expect_true(any(grepl("lamps", readLines(file.path(fit$folder, "covariates.csv")))))
  expect_error(tw_fit(bus_stops, wins1 = "home", wins2 = "away", formula = y ~ x), "right side")
})

test_that("print, summary and plot say what is there", {
  fit <- fitted_twice(bus_stops, wins1 = "home", wins2 = "away", ties = "equal")
  expect_output(print(fit), "4 items, 48 comparisons \\(9 ties\\)")
  expect_output(print(summary(fit)), "variance")
  picture <- tempfile(fileext = ".png")
  grDevices::png(picture)
  plot(fit)
  grDevices::dev.off()
  expect_gt(file.size(picture), 1000)
})

test_that("the command finds the libraries that it was started with before R", {
  path <- paste(R.home("lib"), "/usr/lib/x86_64-linux-gnu", "/opt/mine/lib", sep = ":")
  expect_equal(tiewise:::command_environment(path, "Linux"), "LD_LIBRARY_PATH='/opt/mine/lib'")
  expect_equal(tiewise:::command_environment("", "Linux"), character())
  expect_equal(tiewise:::command_environment(path, "Windows"), character())
})
