# Draws in the shapes of the packages posterior and coda.

as_draws.tw_fit <- function(x, ...) as_draws_array.tw_fit(x, ...)

as_draws_array.tw_fit <- function(x, ...) posterior::as_draws_array(draws_array(x))

as_draws_df.tw_fit <- function(x, ...) posterior::as_draws_df(as_draws_array.tw_fit(x, ...))

as.mcmc.list.tw_fit <- function(x, ...) {
  draws <- draws_array(x)
  chains <- lapply(seq_len(dim(draws)[2]), function(k) {
    coda::mcmc(matrix(draws[, k, ], dim(draws)[1], dimnames = list(NULL, dimnames(draws)[[3]])))
  })
  coda::as.mcmc.list(chains)
}

# All chains one after the other; as.mcmc.list() keeps them apart.
as.mcmc.tw_fit <- function(x, ...) {
  coda::mcmc(do.call(rbind, lapply(as.mcmc.list.tw_fit(x), as.matrix)))
}
