"""Never run: the specs that name it are refused."""
