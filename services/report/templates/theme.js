// The button between light and dark. Without JavaScript the page follows the system and has no button.
(function () {
  const root = document.documentElement;
  const button = document.getElementById("theme");
  const systemDark = window.matchMedia("(prefers-color-scheme: dark)");

  function theme() {
    return root.dataset.theme || (systemDark.matches ? "dark" : "light");
  }

  function label() {
    const other = theme() === "dark" ? "light" : "dark";
    button.textContent = other === "dark" ? "Dark" : "Light";
    button.setAttribute("aria-label", "Switch to the " + other + " theme");
  }

  button.hidden = false;
  label();
  button.addEventListener("click", function () {
    root.dataset.theme = theme() === "dark" ? "light" : "dark";
    label();
  });
  systemDark.addEventListener("change", label);
})();
