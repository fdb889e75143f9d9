// Pages between this site and a learning platform: what a button would do is done at once.

// A choice goes back to the platform.
document.querySelector("form[data-send]")?.requestSubmit();

// A registration has ended: the platform's window closes this one. The message has nothing that others may not read.
if (document.querySelector("[data-close]")) {
  (window.opener || window.parent).postMessage({ subject: "org.imsglobal.lti.close" }, "*");
}
