# What R users expect of a fit: print, summary, coef, plot.

print.tw_fit <- function(x, ...) {
  facts <- x$facts
  cat(x$wording$question, "\n", sep = "")
  cat(nrow(x$items), " items, ", facts$comparisons, " comparisons",
      if (facts$ties > 0) paste0(" (", facts$ties, " ties)"), "\n", sep = "")
  if (!is.null(facts$verdict$text)) cat(facts$verdict$text, "\n", sep = "")
  for (line in facts$warnings) cat("Note: ", line, "\n", sep = "")
  cat("\nHigher quality means chosen more often; 0 is the average item.\n")
  shown <- utils::head(x$items, 6)
  columns <- c("item", "name", "mean", "q2.5", "q97.5", "rank", "rank_q2.5", "rank_q97.5")
  print(shown[intersect(columns, names(shown))], digits = 3, row.names = FALSE)
  if (nrow(x$items) > 6) cat("... and ", nrow(x$items) - 6, " more: summary() has all\n", sep = "")
  invisible(x)
}

summary.tw_fit <- function(object, ...) {
  structure(
    list(
      items = object$items, parameters = object$parameters, verdict = object$facts$verdict,
      reliability = object$facts$reliability, engine = object$facts$engine, seed = object$facts$seed,
      priors = object$facts$model
    ),
    class = "summary.tw_fit"
  )
}

print.summary.tw_fit <- function(x, ...) {
  for (part in c("computation", "answers", "model")) {
    if (!is.null(x$verdict[[part]]$text)) {
      cat(format(part, width = 12), x$verdict[[part]]$text, "\n", sep = "")
    }
  }
  cat("\nParameters\n")
  print(x$parameters, digits = 3, row.names = FALSE)
  cat("\nItems\n")
  print(x$items, digits = 3, row.names = FALSE)
  cat("\nEngine ", x$engine, ", seed ", x$seed, "\n", sep = "")
  invisible(x)
}

coef.tw_fit <- function(object, ...) stats::setNames(object$items$mean, object$items$item)

plot.tw_fit <- function(x, top = 40, xlab = NULL, ...) {
  shown <- utils::head(x$items[order(-x$items$mean), ], top)
  height <- rev(seq_len(nrow(shown)))
  if (is.null(xlab)) xlab <- paste0("Quality, 95 % interval (", x$wording$higher, " to the right)")
  old <- graphics::par(mar = c(4.5, label_margin(shown$name), 1, 1))
  on.exit(graphics::par(old))
  graphics::plot(shown$mean, height, xlim = range(shown$q2.5, shown$q97.5), pch = 19, yaxt = "n",
                 ylab = "", xlab = xlab, bty = "n", ...)
  graphics::abline(v = 0, col = "grey80")
  graphics::segments(shown$q2.5, height, shown$q97.5, height)
  graphics::axis(2, at = height, labels = shown$name, las = 1, tick = FALSE, cex.axis = 0.8)
  if (nrow(x$items) > top) {
    graphics::mtext(paste("The highest", top, "of", nrow(x$items)), side = 3, adj = 1, cex = 0.8)
  }
  invisible(x)
}

label_margin <- function(names) min(14, 2 + 0.45 * max(nchar(names)))

# The map of a fit with areas: an sf data frame with the columns of `items`, and a plot of it.
tw_map <- function(fit, column = "mean", plot = TRUE, ...) {
  needs("sf")
  path <- file.path(fit$folder, "areas.gpkg")
  if (!file.exists(path)) {
    stop(fit$folder, " has no map (areas.gpkg): fit with `areas`.", call. = FALSE)
  }
  map <- read_map(path)
  map$item <- as.character(map[[item_column(map, fit)]])
  more <- setdiff(names(fit$items), setdiff(names(map), "item"))
  map <- merge(map, fit$items[more], by = "item")
  if (plot) {
    largest <- max(abs(map[[column]]))
    breaks <- if (min(map[[column]]) < 0) seq(-largest, largest, length.out = 12) else "pretty"
    plot(map[column], main = paste0(fit$wording$question, "  (", column, ")"), breaks = breaks,
         pal = function(n) grDevices::hcl.colors(n, "Blue-Red"), ...)
  }
  invisible(map)
}

# An older GDAL says of every newer GeoPackage that it may know it in part only; such maps are plain.
read_map <- function(path) {
  withCallingHandlers(sf::st_read(path, quiet = TRUE), warning = function(remark) {
    if (grepl("may only be partially supported", conditionMessage(remark))) invokeRestart("muffleWarning")
  })
}

item_column <- function(map, fit) {
  matches <- function(name) all(as.character(map[[name]]) %in% fit$items$item)
  columns <- Filter(matches, setdiff(names(map), attr(map, "sf_column")))
  if (!length(columns)) stop("No column of the map holds the ids of the items.", call. = FALSE)
  columns[[1]]
}
