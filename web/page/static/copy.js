// Buttons that copy the text of an element, shown only where a browser can do it.

const said = document.querySelector("[data-copied]");

for (const button of document.querySelectorAll("button[data-copy]")) {
  const from = document.getElementById(button.dataset.copy);
  button.hidden = false;
  button.addEventListener("click", async () => {
    if (!await copy(from)) return;
    button.classList.add("copied");
    setTimeout(() => button.classList.remove("copied"), 2000);
    if (said) said.textContent = `${said.dataset.copied}: ${button.dataset.what}`;
  });
}

// copy asks the browser in the way of today, or, on a site without https, by selecting the text.
async function copy(from) {
  try {
    await navigator.clipboard.writeText(from.textContent);
    return true;
  } catch {
    getSelection().selectAllChildren(from);
    return document.execCommand("copy"); // if that fails too, the text is selected for the keyboard
  }
}
