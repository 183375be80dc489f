#include "bench/log/log_bench.h"

#include <fcntl.h>
#include <unistd.h>

#include <utility>

#include "absl/strings/str_format.h"
#include "bench/support/statistics.h"
#include "core/base/check.h"
#include "core/base/random.h"
#include "io/segments/decision_frame.h"

namespace sortition {
namespace {

constexpr uint32_t kFeatures = 46;
constexpr uint64_t kSegmentBytes = uint64_t{64} << 20;

}  // namespace

Record MakeRecord(uint32_t num_candidates) {
  Record record;
  RandomSequence random(SeedKey(1));
  for (uint32_t i = 0; i < num_candidates * kFeatures; ++i) {
    record.features.push_back(static_cast<float>(random.Normal()));
  }
  log::v1::Decision& decision = record.decision;
  decision.set_decision_id("0190a8c4-5b1e-7000-8000-000000000000");
  decision.set_time_us(1700000000000000);
  decision.set_model("default");
  decision.set_version(3);
  decision.mutable_policy()->mutable_plackett_luce();
  decision.mutable_policy()->set_inverse_temperature(1);
  decision.set_action_kind(log::v1::RANK);
  decision.set_num_candidates(num_candidates);
  decision.set_num_features(kFeatures);
  decision.set_top_k(10);
  for (int rank = 0; rank < 10; ++rank) {
    decision.add_action(rank * static_cast<int32_t>(num_candidates - 1) / 9);
    decision.add_conditional_log_propensities(-4.5 + 0.1 * rank);
  }
  decision.set_log_propensity(-40.5);
  return record;
}

std::string FrameOf(const Record& record) {
  std::string bytes;
  const DecisionFrame frame(record.decision, record.features);
  for (const absl::string_view piece : frame.pieces()) {
    bytes.append(piece.data(), piece.size());
  }
  return bytes;
}

absl::StatusOr<std::unique_ptr<SpoolWriter>> OpenSpool(
    const std::string& dir, config::v1::SpoolOptions::Durability durability) {
  config::v1::SpoolOptions options;
  options.set_dir(dir);
  options.set_segment_bytes(kSegmentBytes);
  options.set_max_bytes(uint64_t{64} << 30);
  options.set_durability(durability);
  return SpoolWriter::Open(options, "");
}

void PlainFiles::Begin(uint64_t bytes) {
  Remove();
  file_ = open(path_.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  CHECK(file_ >= 0 && fallocate(file_, 0, 0, static_cast<off_t>(bytes)) == 0);
  bytes_ = bytes;
  written_ = 0;
}

void PlainFiles::Write(const std::string& bytes) {
  if (written_ + bytes.size() > bytes_) Begin(kSegmentBytes);
  CHECK(
      pwrite(file_, bytes.data(), bytes.size(), static_cast<off_t>(written_)) ==
      static_cast<ssize_t>(bytes.size()));
  written_ += bytes.size();
}

void PlainFiles::Sync() { CHECK(fdatasync(file_) == 0); }

void PlainFiles::Remove() {
  if (file_ >= 0) close(std::exchange(file_, -1));
  unlink(path_.c_str());
}

void Rounds::Add(double figure, double baseline) {
  figures.push_back(figure);
  ratios.push_back(figure / baseline);
}

std::string Rounds::Text() const {
  const Spread ratio = SpreadOf(ratios);
  return absl::StrFormat("%10.2f  %.2f (%.2f - %.2f)", MedianOf(figures),
                         ratio.median, ratio.lowest, ratio.highest);
}

double Rounds::Ratio() const { return MedianOf(ratios); }

}  // namespace sortition
