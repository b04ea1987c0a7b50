"""The study's site: HTTP and HTML, for judges, researchers and programs."""
