#include "client/top/terminal.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

namespace sortition {
namespace {

size_t ScreenLines() {
  constexpr size_t kUsual = 24;
  winsize size = {};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_row == 0) {
    return kUsual;
  }
  return size.ws_row;
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

void Terminal::Draw(const std::vector<std::string>& lines) {
  const size_t shown = std::min(lines.size(), ScreenLines() - 1);
  out_ << "\x1b[H";
  for (size_t i = 0; i < shown; ++i) out_ << lines[i] << "\x1b[K\r\n";
  out_ << "\x1b[J" << std::flush;
}

char Terminal::WaitForKey(double seconds) const {
  constexpr double kMsPerSecond = 1000;
  pollfd keys = {has_keys_ ? STDIN_FILENO : -1, POLLIN, 0};
  if (poll(&keys, 1, static_cast<int>(seconds * kMsPerSecond)) <= 0) return 0;
  char key = 0;
  return read(STDIN_FILENO, &key, 1) == 1 ? key : 0;
}

}  // namespace sortition
