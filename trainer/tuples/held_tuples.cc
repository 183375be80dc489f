#include "trainer/tuples/held_tuples.h"

#include <malloc.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "process/log.h"

namespace sortition {
namespace {

constexpr double kBytesPerMib = 1024.0 * 1024.0;

// Memory for the queries kept for warm-up: enough for any server, and never
// more than this share of memory_mb, which it counts towards. It is reserved in
// full, because what is kept must not depend on the order.
constexpr double kMaxWarmupBytes = 64 * kBytesPerMib;
constexpr double kMaxWarmupShare = 1.0 / 8;

// The share of memory_mb for tuples. The rest is for the process itself and for
// what training keeps beside every tuple. Without a scratch file, tuples get
// all of memory_mb.
constexpr double kMaxTupleShare = 7.0 / 8;

// Also counts the copy that is trained on, because it is made while this one
// still exists.
uint64_t Bytes(const HeldTuple& held) {
  const uint64_t outcome = held.outcome == nullptr ? 0 : held.outcome->bytes();
  return held.tuple.bytes() + sizeof(HeldTuple) + outcome;
}

constexpr uint64_t kBytesOfAbstention =
    sizeof(HeldAbstention) + sizeof(AbstainedTuple);

}  // namespace

HeldTuples::Limits HeldTuples::Limits::Of(
    const config::v1::TrainOptions& options) {
  const double bytes = static_cast<double>(options.memory_mb()) * kBytesPerMib;
  const double share = options.scratch_mb() > 0 ? kMaxTupleShare : 1;
  const double warmup_bytes =
      options.warmup_queries() > 0
          ? std::min(kMaxWarmupBytes, kMaxWarmupShare * bytes)
          : 0;
  return {.memory_bytes = static_cast<uint64_t>(share * bytes - warmup_bytes),
          .memory_mb = options.memory_mb(),
          .scratch = options.scratch(),
          .scratch_bytes = options.scratch_mb() << 20,
          .warmup_bytes = warmup_bytes};
}

absl::Status HeldTuples::Limits::CheckScratch(
    const config::v1::TrainOptions& options) {
  std::error_code error;
  if (options.scratch().empty() || options.scratch_mb() == 0 ||
      std::filesystem::is_directory(options.scratch(), error)) {
    return absl::OkStatus();
  }
  return absl::NotFoundError(absl::StrCat("scratch is '", options.scratch(),
                                          "', must be a directory"));
}

// A scratch file is not used if it is smaller than memory_bytes: it would hold
// less than memory does.
HeldTuples::HeldTuples(Limits limits)
    : limits_(std::move(limits)),
      may_spill_(limits_.scratch_bytes >= limits_.memory_bytes),
      kept_(limits_.memory_mb) {}

absl::Status HeldTuples::Add(HeldTuple held) {
  if (spill_ != nullptr) {
    absl::Status written = absl::ResourceExhaustedError("");
    while (kept_.Keeps(held.place.subsample) &&
           absl::IsResourceExhausted(written)) {
      written = spill_->Write(&held.tuple);
      if (absl::IsResourceExhausted(written)) {
        LogWarning("no room for features in the scratch file",
                   {{"error", std::string(written.message())}});
        RETURN_IF_ERROR(HalveSample());
      }
    }
    if (!absl::IsResourceExhausted(written)) RETURN_IF_ERROR(written);
  }
  if (!kept_.Keeps(held.place.subsample)) return absl::OkStatus();
  if (spill_ != nullptr) spill_->Release(&held.tuple);
  bytes_ += Bytes(held);
  tuples_.push_back(std::move(held));
  return KeepWithinMemory();
}

absl::Status HeldTuples::Add(const HeldAbstention& held) {
  if (!kept_.Keeps(held.place.subsample)) return absl::OkStatus();
  bytes_ += kBytesOfAbstention;
  abstentions_.push_back(held);
  return KeepWithinMemory();
}

absl::Status HeldTuples::KeepWithinMemory() {
  while (bytes_ > limits_.memory_bytes) {
    if (may_spill_) {
      Spill();
    } else {
      RETURN_IF_ERROR(HalveSample());
    }
  }
  return absl::OkStatus();
}

// Moves all features to a scratch file, or none if there is no room for them.
void HeldTuples::Spill() {
  may_spill_ = false;
  auto spill = FeatureSpill::Create(
      limits_.scratch.empty() ? DefaultScratchDirectory() : limits_.scratch,
      limits_.scratch_bytes);
  const absl::Status status =
      spill.ok() ? SpillAll(spill->get()) : spill.status();
  if (!status.ok()) {
    LogWarning("features cannot go to a scratch file",
               {{"error", std::string(status.message())}});
    return;
  }
  spill_ = *std::move(spill);
  // Without this, the heap would keep what was freed between the actions.
  malloc_trim(0);
  LogInfo(
      "tuples exceed memory_mb: their features go to a scratch file",
      {{"memory_mb", limits_.memory_mb}, {"scratch", spill_->file().dir()}});
  if (spill_->file().in_memory()) {
    LogWarning("the scratch directory is in memory itself",
               {{"scratch", spill_->file().dir()}});
  }
}

absl::Status HeldTuples::SpillAll(FeatureSpill* spill) {
  for (HeldTuple& held : tuples_) RETURN_IF_ERROR(spill->Write(&held.tuple));
  for (HeldTuple& held : tuples_) spill->Release(&held.tuple);
  bytes_ = BytesOfAll();
  return absl::OkStatus();
}

uint64_t HeldTuples::BytesOfAll() const {
  uint64_t bytes = abstentions_.size() * kBytesOfAbstention;
  for (const HeldTuple& held : tuples_) bytes += Bytes(held);
  return bytes;
}

absl::Status HeldTuples::HalveSample() {
  kept_.Halve(kTuplesExceedMemory);
  const auto is_dropped = [this](const auto& held) {
    return !kept_.Keeps(held.place.subsample);
  };
  std::erase_if(tuples_, is_dropped);
  std::erase_if(abstentions_, is_dropped);
  bytes_ = BytesOfAll();
  if (spill_ == nullptr) return absl::OkStatus();
  size_t next = 0;
  return spill_->Compact(
      [&] { return next < tuples_.size() ? &tuples_[next++].tuple : nullptr; });
}

}  // namespace sortition
