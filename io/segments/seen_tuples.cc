#include "io/segments/seen_tuples.h"

#include <filesystem>

#include "absl/strings/str_cat.h"

namespace sortition {

SeenTuples::SeenTuples(const std::vector<std::string>& segments) {
  const auto directory = [](const std::string& path) {
    return std::filesystem::path(path).parent_path();
  };
  for (const std::string& path : segments) {
    has_several_directories_ |= directory(path) != directory(segments[0]);
  }
}

bool SeenTuples::Insert(const log::v1::BanditTuple& tuple) {
  if (!has_several_directories_) return true;
  const log::v1::SpoolPosition& position = tuple.position();
  const log::v1::Decision& decision = tuple.decision();
  return seen_
      .insert(HashBytes(
          absl::StrCat(tuple.spool_writer(), "\n", position.segment(), "\n",
                       position.offset(), "\n", decision.model(), "\n",
                       decision.version(), "\n", decision.decision_id())))
      .second;
}

}  // namespace sortition
