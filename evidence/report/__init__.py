"""The report on a bundle: one page to look at and to print, with what verification found."""
