#include "trainer/retention/logged_versions.h"

#include <set>

#include "core/base/status_macros.h"
#include "io/segments/log_paths.h"
#include "io/segments/parse_message.h"
#include "io/segments/segment.h"
#include "process/progress.h"
#include "sortition/log/v1/log.pb.h"

namespace sortition {
namespace {

class Reader {
 public:
  explicit Reader(const std::string& model) : model_(model) {}

  absl::Status Read(const std::string& path) {
    const auto opened = SegmentReader::Open(path);
    if (absl::IsNotFound(opened.status())) return absl::OkStatus();
    RETURN_IF_ERROR(opened.status());
    absl::string_view payload;
    uint64_t offset = 0;
    while (true) {
      ASSIGN_OR_RETURN(const auto outcome, (*opened)->Next(&payload, &offset));
      if (outcome == SegmentReader::Outcome::kEnd ||
          outcome == SegmentReader::Outcome::kIncomplete) {
        return absl::OkStatus();
      }
      if (outcome == SegmentReader::Outcome::kCorrupt ||
          !ParseMessage(payload, &record_)) {
        ++found_.corrupt_records;
        continue;
      }
      Take();
    }
  }

  const LoggedVersions& found() const { return found_; }

 private:
  void Take() {
    if (record_.has_decision()) TakeDecision(record_.decision());
    if (record_.has_shadow_view()) TakeView(record_.shadow_view());
    if (!record_.has_tuple()) return;
    TakeDecision(record_.tuple().decision());
    for (const auto& view : record_.tuple().shadow_views()) TakeView(view);
  }

  void TakeDecision(const log::v1::Decision& decision) {
    if (decision.model() != model_) return;
    ++found_.decisions;
    // Each once.
    std::set<uint64_t> versions = {decision.version()};
    if (decision.has_arm()) {
      versions.insert(decision.arm().primary_version());
      for (const auto& arm : decision.arm().split().arms()) {
        versions.insert(arm.version());
      }
    }
    if (decision.has_interleaving()) {
      versions.insert(decision.interleaving().other_version());
    }
    for (const uint64_t version : versions) ++found_.uses[version];
  }

  void TakeView(const log::v1::ShadowView& view) {
    if (view.model() == model_) ++found_.uses[view.version()];
  }

  const std::string& model_;
  log::v1::LogRecord record_;
  LoggedVersions found_;
};

}  // namespace

absl::StatusOr<LoggedVersions> FindLoggedVersions(
    const std::vector<std::string>& entries, const std::string& model) {
  ASSIGN_OR_RETURN(const auto paths, FindSegments(entries));
  Progress progress("reading the log", "segments", paths.size());
  Reader reader(model);
  for (const std::string& path : paths) {
    RETURN_IF_ERROR(reader.Read(path));
    progress.Add(1);
  }
  return reader.found();
}

}  // namespace sortition
