// Pages between this site and a learning platform: what a button would do is done at once.

// A choice goes back to the platform.
document.querySelector("form[data-send]")?.requestSubmit();
