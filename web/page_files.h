#pragma once
// The page that servers and sidecars show people, compiled in.
#include <span>

#include "absl/strings/string_view.h"

namespace sortition {

struct PageFile {
  absl::string_view path;  // Of the request: "/", "/app.js", ...
  absl::string_view content_type;
  absl::string_view bytes;
};

// Returns the files of web/page, "/" among them. They ask for nothing but one
// another, /status.json and /v1/models/change, and need no more than the
// Content-Security-Policy "default-src 'self'".
std::span<const PageFile> PageFiles();

}  // namespace sortition
