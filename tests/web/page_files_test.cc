#include "web/page_files.h"

#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sortition {
namespace {

std::string ReadFile(const std::string& name) {
  std::ifstream file(std::string(SORTITION_PAGE) + "/" + name,
                     std::ios::binary);
  std::stringstream bytes;
  bytes << file.rdbuf();
  return bytes.str();
}

TEST(PageFilesTest, HasTheBytesOfEachFile) {
  for (const PageFile& file : PageFiles()) {
    const std::string name =
        file.path == "/" ? "index.html" : std::string(file.path.substr(1));
    const std::string bytes = ReadFile(name);
    EXPECT_FALSE(bytes.empty()) << name;
    EXPECT_TRUE(file.bytes == bytes) << name;
  }
}

// What a file names between quotes and begins with "/" or "./" is a file, or
// asked of the server.
TEST(PageFilesTest, HasAllThatItsFilesAskFor) {
  std::set<std::string> paths = {"/status.json", "/metrics"};
  for (const PageFile& file : PageFiles()) {
    EXPECT_TRUE(paths.insert(std::string(file.path)).second) << file.path;
  }
  ASSERT_TRUE(paths.contains("/"));
  for (const PageFile& file : PageFiles()) {
    const std::string bytes(file.bytes);
    for (const std::string start : {"from './", "href=\"/", "src=\"/"}) {
      for (size_t at = bytes.find(start); at != std::string::npos;
           at = bytes.find(start, at + 1)) {
        const size_t begin = at + start.size() - 1;
        const std::string path =
            bytes.substr(begin, bytes.find_first_of("'\"", begin) - begin);
        EXPECT_TRUE(paths.contains(path)) << file.path << ": " << path;
      }
    }
  }
}

TEST(PageFilesTest, TellsTheTypeOfEachFile) {
  const std::map<std::string, std::string> types = {
      {".js", "text/javascript; charset=utf-8"},
      {".css", "text/css; charset=utf-8"},
      {".svg", "image/svg+xml"}};
  for (const PageFile& file : PageFiles()) {
    const std::string path(file.path);
    if (path == "/") {
      EXPECT_EQ(file.content_type, "text/html; charset=utf-8");
      continue;
    }
    const auto type = types.find(path.substr(path.rfind('.')));
    ASSERT_NE(type, types.end()) << path;
    EXPECT_EQ(std::string(file.content_type), type->second) << path;
  }
}

}  // namespace
}  // namespace sortition
