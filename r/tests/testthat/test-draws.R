results <- function() {
  data <- data.frame(player1 = c("a", "b", "a"), player2 = c("b", "c", "c"),
                     home = c(4, 5, 6), away = c(2, 2, 1), equal = c(1, 2, 1))
  tw_fit(data, wins1 = "home", wins2 = "away", ties = "equal", seed = 1, out = tempfile())
}

test_that("draws have the means that the tables have", {
  skip_if_not_installed("posterior")
  skip_if_not_installed("ncdf4")
  fit <- results()
  draws <- posterior::as_draws_df(fit)
  expect_setequal(posterior::variables(draws), c(paste0("quality[", c("a", "b", "c"), "]"), "tie", "variance"))
  expect_equal(mean(draws$tie), fit$parameters$mean[fit$parameters$parameter == "tie"], tolerance = 1e-12)
  quality <- vapply(fit$items$item, function(item) mean(draws[[paste0("quality[", item, "]")]]), 0)
  expect_equal(unname(quality), fit$items$mean, tolerance = 1e-12)
})

test_that("intervals of the draws are those of the table", {
  skip_if_not_installed("posterior")
  skip_if_not_installed("ncdf4")
  fit <- results()
  tie <- posterior::as_draws_array(fit)[, , "tie"]
  row <- fit$parameters[fit$parameters$parameter == "tie", ]
  expect_equal(unname(quantile(tie, c(0.025, 0.5, 0.975))), c(row$q2.5, row$median, row$q97.5))
  expect_equal(sd(tie), row$sd, tolerance = 1e-3)
})

test_that("coda has the same draws", {
  skip_if_not_installed("coda")
  skip_if_not_installed("ncdf4")
  fit <- results()
  chains <- coda::as.mcmc.list(fit)
  together <- coda::as.mcmc(fit)
  expect_identical(nrow(together), sum(vapply(chains, nrow, 0L)))
  expect_equal(mean(together[, "tie"]), fit$parameters$mean[fit$parameters$parameter == "tie"])
})

test_that("a folder of something else is refused", {
  expect_error(tw_read(tempdir()), "no results folder of tiewise")
})

test_that("draws written as CSV are those of the file of draws", {
  skip_if_not_installed("posterior")
  skip_if_not_installed("ncdf4")
  data <- data.frame(player1 = c("a", "b", "a"), player2 = c("b", "c", "c"),
                     home = c(4, 5, 6), away = c(2, 2, 1), equal = c(1, 2, 1))
  fit <- tw_fit(data, wins1 = "home", wins2 = "away", ties = "equal", seed = 1, out = tempfile(),
                draws_format = "csv")
  table <- utils::read.csv(file.path(fit$folder, "draws.csv"), check.names = FALSE)
  from_csv <- posterior::as_draws_df(table)
  from_file <- posterior::as_draws_df(fit)
  variables <- posterior::variables(from_file)
  expect_setequal(posterior::variables(from_csv), c(variables, "level"))
  for (variable in variables) {
    expect_equal(from_csv[[variable]], from_file[[variable]], tolerance = 1e-12)
  }
  expect_identical(posterior::nchains(from_csv), posterior::nchains(from_file))
})
