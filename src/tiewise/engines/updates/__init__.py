"""Updates of one parameter after another, for Gibbs and Metropolis."""
