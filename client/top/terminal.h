#pragma once
// The screen and the keys of a terminal, by ANSI sequences alone.
#include <termios.h>

#include <cstddef>
#include <ostream>
#include <string>
#include <vector>

namespace sortition {

// Whether texts to standard output may have colours: it is a terminal, and
// NO_COLOR is unset or empty.
bool MayHaveColours();

// Ctrl-D, or the terminal is gone.
inline constexpr char kEndOfKeys = 4;

// Takes the terminal while it lives: a screen of its own, keys without Enter.
// Not thread-safe.
class Terminal {
 public:
  explicit Terminal(std::ostream* out);
  ~Terminal();
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  // How many columns the screen has now.
  static size_t Columns();

  // Draws over what is there, as many lines as the screen has. Lines that are
  // wider than it would take two.
  void Draw(const std::vector<std::string>& lines);

  // Waits for a key, at most `seconds`. Returns the key; 0: none came;
  // kEndOfKeys: none will come.
  char WaitForKey(double seconds) const;

 private:
  std::ostream& out_;
  termios before_ = {};
  bool has_keys_ = false;  // Standard input is a terminal.
};

}  // namespace sortition
