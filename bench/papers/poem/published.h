#pragma once
// The figures of the POEM paper: tables 3 (expected loss), 4 (seconds) and 5
// (MAP) [SwaminathanJoachims15].
#include <map>
#include <string>

namespace sortition {

struct Published {
  std::map<std::string, double> expected;
  std::map<std::string, double> seconds;
  std::map<std::string, double> map;
};

// Returns the figures of scene, yeast, tmc or lyrl, by row; empty for other
// names.
const Published& PublishedFor(const std::string& name);

}  // namespace sortition
