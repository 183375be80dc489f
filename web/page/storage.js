// What the browser keeps for this page, by the name of its storage. Readers may
// forbid it: then nothing is found, and what is kept lasts as long as the page.

export function stored(storage, name) {
  try {
    return window[storage].getItem(name) ?? '';
  } catch {
    return '';
  }
}

// Keeps `value`, or nothing if it is empty.
export function keep(storage, name, value) {
  try {
    if (value) {
      window[storage].setItem(name, value);
    } else {
      window[storage].removeItem(name);
    }
  } catch {
    // It is forbidden.
  }
}
