# Runs all code of the vignette; its first error ends it.
pages <- list.files("../vignettes", pattern = "[.]Rmd$", full.names = TRUE)
for (page in pages) {
  code <- knitr::purl(page, tempfile(fileext = ".R"), quiet = TRUE)
  source(code, echo = FALSE)
}
cat("Vignettes run:", basename(pages), "\n")
