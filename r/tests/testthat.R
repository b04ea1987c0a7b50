library(testthat)
library(tiewise)

test_check("tiewise")
