// Runs before the first paint: colours that the reader has chosen, else those
// of the system.
try {
  const theme = localStorage.getItem('theme');
  if (theme) document.documentElement.dataset.theme = theme;
} catch (error) {
  // Without storage the system's colours stay.
}
