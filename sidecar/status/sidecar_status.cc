#include "sidecar/status/sidecar_status.h"

#include <chrono>
#include <mutex>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "io/clocks.h"
#include "process/status/history.h"
#include "process/status/shared_text.h"
#include "process/status/sidecar_series.h"
#include "process/status/status_text.h"
#include "sidecar/status/worths.h"

namespace sortition {
namespace {

constexpr std::chrono::seconds kAge(1);  // Of a text.
// A pipeline that is well says something several times a second.
constexpr int64_t kLongestSilenceUs = 30'000'000;

// What the pipeline has told.
struct Told {
  // When it last said something, by a clock that is never set.
  int64_t steady_us = SteadyUs();
  Worths worths;
  status::v1::Sidecar figures;

  status::v1::Sidecar Whole(int64_t since_us) const;
};

status::v1::Sidecar Told::Whole(int64_t since_us) const {
  status::v1::Sidecar sidecar = figures;
  sidecar.set_since_us(since_us);
  worths.Fill(&sidecar);
  const int64_t silence_us = SteadyUs() - steady_us;
  if (sidecar.problem().empty() && silence_us > kLongestSilenceUs) {
    sidecar.set_problem(
        absl::StrCat("it has done nothing for ", silence_us / 1'000'000, " s"));
  }
  return sidecar;
}

}  // namespace

struct SidecarStatusSource::Rep {
  explicit Rep(int64_t now_us) : since_us(now_us) {}

  const int64_t since_us;
  std::mutex mutex;            // Held for a tuple, or to copy.
  Told told;                   // Guarded by `mutex`, as are the next.
  uint64_t tuples_before = 0;  // In the last sample.
  std::optional<int64_t> sample_us = {};  // Steady time of it.
  History history;

  // Last: their threads use the others.
  SharedText text{kAge, [this] { return MakeText(); }};
  SharedText history_text{kAge, [this] { return MakeHistory(); }};

  void TakeSample(int64_t now_us, int64_t steady_us);  // Requires `mutex`.
  std::string MakeText();
  std::string MakeHistory();
};

void SidecarStatusSource::Rep::TakeSample(int64_t now_us, int64_t steady_us) {
  const uint64_t tuples = told.figures.tuples();
  HistorySample sample;
  AddSidecarSeries(told.Whole(since_us), now_us, &sample);
  if (sample_us.has_value()) {
    sample[{"tuples_per_second", {}, "1/s"}] = {
        .value = static_cast<double>(tuples - tuples_before) /
                 (1e-6 * static_cast<double>(steady_us - *sample_us))};
  }
  tuples_before = tuples;
  sample_us = steady_us;
  history.Add(steady_us, now_us, sample);
}

std::string SidecarStatusSource::Rep::MakeText() {
  // Estimates take longer than to copy their sums.
  const Told copy = [this] {
    const std::lock_guard lock(mutex);
    return told;
  }();
  status::v1::Status status;
  *status.mutable_sidecar() = copy.Whole(since_us);
  SetProcess("sidecar", NowUs(), &status);
  return StatusJson(status);
}

std::string SidecarStatusSource::Rep::MakeHistory() {
  const History copy = [this] {
    const std::lock_guard lock(mutex);
    return history;
  }();
  return copy.is_empty() ? std::string() : copy.Json();
}

SidecarStatusSource::SidecarStatusSource(std::unique_ptr<Rep> rep)
    : rep_(std::move(rep)) {}

SidecarStatusSource::~SidecarStatusSource() = default;

std::unique_ptr<SidecarStatusSource> SidecarStatusSource::Create(
    int64_t now_us) {
  return std::unique_ptr<SidecarStatusSource>(
      new SidecarStatusSource(std::make_unique<Rep>(now_us)));
}

void SidecarStatusSource::AddTuple(const log::v1::BanditTuple& tuple,
                                   absl::string_view decision) {
  const std::lock_guard lock(rep_->mutex);
  rep_->told.worths.Add(tuple, decision);
}

void SidecarStatusSource::Update(const status::v1::Sidecar& figures,
                                 int64_t now_us, int64_t steady_us) {
  const std::lock_guard lock(rep_->mutex);
  rep_->told.figures = figures;
  rep_->told.steady_us = SteadyUs();
  if (rep_->history.IsDue(steady_us)) rep_->TakeSample(now_us, steady_us);
}

std::string SidecarStatusSource::Json(absl::string_view query) {
  std::string text = rep_->text.Get();
  if (text.empty()) text = JsonBeforeTheFirst("sidecar", NowUs());
  if (!WantsHistory(query)) return text;
  return WithHistory(std::move(text), rep_->history_text.Get());
}

}  // namespace sortition
