"""The stages of pipelines, a file for each family."""
