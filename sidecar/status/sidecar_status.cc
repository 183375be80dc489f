#include "sidecar/status/sidecar_status.h"

#include <chrono>
#include <mutex>
#include <utility>

#include "absl/strings/str_cat.h"
#include "io/clocks.h"
#include "process/status/history.h"
#include "process/status/sidecar_series.h"
#include "process/status/status_text.h"
#include "sidecar/status/worths.h"

namespace sortition {
namespace {

constexpr std::chrono::seconds kAge(1);  // Of a text.
// A pipeline that is well says something several times a second.
constexpr int64_t kLongestSilenceUs = 30'000'000;

}  // namespace

struct SidecarStatusSource::Rep {
  explicit Rep(int64_t now_us) : since_us(now_us) {}

  const int64_t since_us;
  SharedText text{kAge};
  std::mutex mutex;  // Held for milliseconds at most.
  // When the pipeline last said something, by a clock that is never set.
  // Guarded by `mutex`, as are the next.
  int64_t told_us = SteadyUs();
  Worths worths;
  status::v1::Sidecar figures;
  uint64_t tuples_before = 0;  // In the last sample.
  int64_t sample_us = 0;       // Time of it; 0: there was none.
  History history;
  std::string history_json;

  // These require `mutex`.
  status::v1::Sidecar Whole() const;
  void TakeSample(int64_t now_us);

  std::string MakeText();
};

status::v1::Sidecar SidecarStatusSource::Rep::Whole() const {
  status::v1::Sidecar sidecar = figures;
  sidecar.set_since_us(since_us);
  worths.Fill(&sidecar);
  const int64_t silence_us = SteadyUs() - told_us;
  if (sidecar.problem().empty() && silence_us > kLongestSilenceUs) {
    sidecar.set_problem(
        absl::StrCat("it has done nothing for ", silence_us / 1'000'000, " s"));
  }
  return sidecar;
}

void SidecarStatusSource::Rep::TakeSample(int64_t now_us) {
  HistorySample sample;
  AddSidecarSeries(Whole(), now_us, &sample);
  // After the clock was set back nobody knows how long it took.
  if (sample_us != 0 && now_us > sample_us) {
    sample[{"tuples_per_second", {}, "1/s"}] = {
        .value = static_cast<double>(figures.tuples() - tuples_before) /
                 (1e-6 * static_cast<double>(now_us - sample_us))};
  }
  tuples_before = figures.tuples();
  sample_us = now_us;
  history.Add(now_us, sample);
  history_json = history.Json();
}

std::string SidecarStatusSource::Rep::MakeText() {
  status::v1::Status status;
  {
    const std::lock_guard lock(mutex);
    *status.mutable_sidecar() = Whole();
  }
  SetProcess("sidecar", NowUs(), &status);
  return StatusJson(status);
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
  rep_->worths.Add(tuple, decision);
}

void SidecarStatusSource::Update(const status::v1::Sidecar& figures,
                                 int64_t now_us) {
  const std::lock_guard lock(rep_->mutex);
  rep_->figures = figures;
  rep_->told_us = SteadyUs();
  if (rep_->history.IsDue(now_us)) rep_->TakeSample(now_us);
}

std::string SidecarStatusSource::Json(absl::string_view query) {
  std::string text = rep_->text.Get([this] { return rep_->MakeText(); });
  if (!WantsHistory(query)) return text;
  const std::lock_guard lock(rep_->mutex);
  return WithHistory(std::move(text), rep_->history_json);
}

}  // namespace sortition
