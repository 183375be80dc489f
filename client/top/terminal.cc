#include "client/top/terminal.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdlib>

namespace sortition {
namespace {

// Both are at least 1.
winsize ScreenSize() {
  constexpr unsigned short kUsualLines = 24;
  constexpr unsigned short kUsualColumns = 80;
  winsize size = {};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0) size = {};
  if (size.ws_row == 0) size.ws_row = kUsualLines;
  if (size.ws_col == 0) size.ws_col = kUsualColumns;
  return size;
}

}  // namespace

bool MayHaveColours() {
  const char* no_colour = std::getenv("NO_COLOR");
  return isatty(STDOUT_FILENO) == 1 &&
         (no_colour == nullptr || *no_colour == '\0');
}

Terminal::Terminal(std::ostream* out) : out_(*out) {
  has_keys_ =
      isatty(STDIN_FILENO) == 1 && tcgetattr(STDIN_FILENO, &before_) == 0;
  if (has_keys_) {
    termios keys = before_;
    keys.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
    tcsetattr(STDIN_FILENO, TCSANOW, &keys);
  }
  // Another screen, no cursor.
  out_ << "\x1b[?1049h\x1b[?25l" << std::flush;
}

Terminal::~Terminal() {
  out_ << "\x1b[?25h\x1b[?1049l" << std::flush;
  if (has_keys_) tcsetattr(STDIN_FILENO, TCSANOW, &before_);
}

size_t Terminal::Columns() { return ScreenSize().ws_col; }

void Terminal::Draw(const std::vector<std::string>& lines) {
  const size_t shown = std::min<size_t>(lines.size(), ScreenSize().ws_row - 1);
  out_ << "\x1b[H";
  // Erased first: after a line as wide as the screen, terminals would erase its
  // last character.
  for (size_t i = 0; i < shown; ++i) out_ << "\x1b[K" << lines[i] << "\r\n";
  out_ << "\x1b[J" << std::flush;
}

char Terminal::WaitForKey(double seconds) const {
  constexpr double kMsPerSecond = 1000;
  pollfd keys = {has_keys_ ? STDIN_FILENO : -1, POLLIN, 0};
  const int milliseconds = static_cast<int>(std::ceil(seconds * kMsPerSecond));
  if (poll(&keys, 1, milliseconds) <= 0) return 0;
  char key = 0;
  const ssize_t count = read(STDIN_FILENO, &key, 1);
  if (count < 0 && (errno == EINTR || errno == EAGAIN)) return 0;
  return count == 1 ? key : kEndOfKeys;
}

}  // namespace sortition
