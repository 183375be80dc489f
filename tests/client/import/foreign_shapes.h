#pragma once
// Files as other programs write them, one shape after the other, and what the
// import makes of each. docs/foreign_files.md is this list for users.
#include <string>
#include <vector>

namespace sortition {

// A shape of a file. `text` may have several lines.
struct Shape {
  const char *format;
  const char *habit;        // What is particular about the file.
  const char *consequence;  // What the import makes of it.
  std::string text;
  std::vector<std::string> flags = {};
  // Expected: FactsOf() all tuples; or the error, if there are none.
  std::vector<std::string> tuples = {};
  std::string error = "";
  std::vector<std::string> report = {};  // Parts of the report's text.
};

// The option that every dsjson file with named features needs here.
inline constexpr char kHash[] = "--hash_bits=20";

// An event of the decision service with the id `id`, whose second of two
// candidates was chosen with probability 0.5 and brought a reward of 1. `more`
// is further members.
std::string Event(const std::string &id, const std::string &more = "",
                  const std::string &multi = R"({"T":{"x":1}},{"T":{"x":2}})",
                  const std::string &shared = "");
// An event without feedback, whose reward is therefore 0.
std::string Silent(const std::string &id, const std::string &more = "");

std::vector<Shape> DsjsonShapes();  // Vowpal Wabbit and what logs for it.
std::vector<Shape> JsonlShapes();
std::vector<Shape> CsvShapes();
std::vector<Shape> ObdShapes();

}  // namespace sortition
