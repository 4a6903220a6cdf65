// SPDX-License-Identifier: Apache-2.0
// The theme is chosen before anything is drawn.
(() => {
  let choice = null;
  try { choice = localStorage.getItem("zramfs-theme"); } catch { /* storage may be forbidden */ }
  if (choice === "light" || choice === "dark") document.documentElement.dataset.theme = choice;
})();
