// Time of structured losses: gradients over all orders, inference, training.
//
// Inference is loss-augmented; training is on LETOR files.
#include <algorithm>
#include <cmath>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "bench/speed/order_enumeration.h"
#include "bench/support/clocks.h"
#include "bench/support/letor_folds.h"
#include "bench/support/report.h"
#include "bench/support/statistics.h"
#include "core/base/random.h"
#include "core/base/status_macros.h"
#include "core/learners/orders/crf_training.h"
#include "core/learners/orders/rank_svm.h"
#include "core/losses/ndcg_hinge.h"
#include "core/losses/ranking_crf.h"

ABSL_FLAG(std::string, letor, "",
          "directory of MQ2008: S1.txt .. S5.txt, or Fold1 .. Fold5; empty: "
          "training is not timed");
ABSL_FLAG(int, repetitions, 21, "repetitions of each measurement");

namespace sortition {
namespace {

constexpr size_t kItems = 1000;

// Returns median CPU seconds.
double MedianTime(const std::function<void()>& body) {
  std::vector<double> times;
  for (int k = 0; k < absl::GetFlag(FLAGS_repetitions); ++k) {
    times.push_back(ThreadCpuSecondsOf(body));
  }
  return MedianOf(std::move(times));
}

// Times the gradient and its enumeration in turn, on the same scores.
absl::StatusOr<Target> TimeGradient() {
  const std::vector<double> gains = {2, 0, 1, 0, 0, 1};
  constexpr double kTemperature = 0.5;
  constexpr int kFast = 2000;
  constexpr int kSlow = 20;
  RandomSequence random(SeedKey(1));
  std::vector<double> scores(gains.size());
  for (double& score : scores) score = random.Normal();
  std::vector<double> fast(gains.size());
  std::vector<double> slow(gains.size());
  RankingCrf crf;
  double fast_value = 0;
  double slow_value = 0;
  std::vector<double> ratios;
  std::vector<double> microseconds;
  for (int k = 0; k < absl::GetFlag(FLAGS_repetitions); ++k) {
    const double own = ThreadCpuSecondsOf([&] {
      for (int i = 0; i < kFast; ++i) {
        fast_value = crf.Evaluate(scores, gains,
                                  {.kind = CrfObjective::kKullbackLeibler,
                                   .temperature = kTemperature},
                                  fast);
      }
    });
    const double direct = ThreadCpuSecondsOf([&] {
      for (int i = 0; i < kSlow; ++i) {
        slow_value =
            EnumerateKullbackLeibler(scores, gains, kTemperature, slow);
      }
    });
    microseconds.push_back(1e6 * own / kFast);
    ratios.push_back(direct / kSlow / (own / kFast));
  }
  double difference = std::abs(fast_value - slow_value);
  for (size_t i = 0; i < gains.size(); ++i) {
    difference = std::max(difference, std::abs(fast[i] - slow[i]));
  }
  if (!(difference < 1e-12)) {
    return absl::InternalError(
        absl::StrCat("gradients differ by ", difference));
  }
  absl::PrintF("gradient over 720 orders: %.2f us, %.0f times direct\n",
               MedianOf(microseconds), MedianOf(ratios));
  return Target{"gradient of six documents, times faster than enumeration",
                MedianOf(ratios), 50, true};
}

struct Ranking {
  std::vector<double> scores;
  std::vector<double> gains;
  std::vector<uint32_t> relevances;
};

// Makes a ranking in which a `share` of the items is relevant, with levels 1 ..
// levels - 1. `agreement` of scores and relevances is from -1 (opposite) to 1.
Ranking MakeRanking(double deviation, uint32_t levels, double share,
                    double agreement, uint64_t seed) {
  RandomSequence random(SeedKey(seed));
  Ranking ranking;
  for (size_t i = 0; i < kItems; ++i) {
    const uint32_t relevance =
        random.Uniform() < share
            ? 1 + static_cast<uint32_t>(random.Below(levels - 1))
            : 0;
    ranking.relevances.push_back(relevance);
    ranking.gains.push_back(relevance);
    ranking.scores.push_back(deviation *
                             (random.Normal() + agreement * relevance));
  }
  return ranking;
}

void TimeInference(std::vector<Target>* targets) {
  PairwiseHinge kendall;
  NdcgHinge ndcg;
  std::vector<double> slopes(kItems);
  double worst_kendall = 0;
  double worst_ndcg = 0;
  for (const uint32_t levels : {2, 3, 5}) {
    for (const double share : {0.02, 0.5}) {
      for (const double agreement : {-1.0, 0.0, 1.0}) {
        absl::PrintF("%d levels, %4.0f %% relevant, agreement %2.0f:", levels,
                     100 * share, agreement);
        for (const double deviation :
             {0.0, 1e-7, 1e-6, 1e-5, 1e-4, 1e-2, 1.0}) {
          const Ranking r = MakeRanking(deviation, levels, share, agreement, 1);
          worst_kendall =
              std::max(worst_kendall, MedianTime([&] {
                         kendall.Evaluate(r.scores, r.relevances, slopes);
                       }));
          const double time =
              MedianTime([&] { ndcg.Evaluate(r.scores, r.gains, 0, slopes); });
          absl::PrintF(" %6.2f", 1e3 * time);
          if (levels <= 3) worst_ndcg = std::max(worst_ndcg, time);
        }
        absl::PrintF("\n");
      }
    }
  }
  targets->push_back(
      {absl::StrCat("Kendall inference, ", kItems, " items, worst, CPU ms"),
       1e3 * worst_kendall, 1});
  targets->push_back({absl::StrCat("NDCG inference, ", kItems,
                                   " items, 2 and 3 levels, worst, CPU ms"),
                      1e3 * worst_ndcg, 60});
}

void TimeEpoch(std::span<const LabelledItems> queries,
               std::vector<Target>* targets) {
  constexpr uint32_t kEpochs = 20;
  config::v1::CrfOptions options;
  options.set_max_epochs(kEpochs);
  options.set_patience(kEpochs);
  const double seconds = ThreadCpuSecondsOf([&] {
    double epoch = 0;
    TrainCrfBySteps(queries, {.kind = CrfObjective::kKullbackLeibler}, 0.01,
                    options, [&](std::span<const double>) { return ++epoch; })
        .value();
  });
  targets->push_back(
      {absl::StrCat("an epoch of KL over ", queries.size(), " queries, CPU ms"),
       1e3 * seconds / kEpochs, 50});
}

void TimeRankSvm(std::span<const LabelledItems> train,
                 config::v1::RankSvmOptions::Weighting weighting,
                 std::vector<Target>* targets) {
  config::v1::RankSvmOptions options;
  options.set_weighting(weighting);
  double worst = 0;
  absl::PrintF("RankSVM, s by C = 2^-6 .. 2^6:");
  for (int power = -6; power <= 6; ++power) {
    const double lambda =
        1 / (std::exp2(power) * static_cast<double>(train.size()));
    double gap = 0;
    const double time = ThreadCpuSecondsOf([&] {
      const RankSvmResult result = TrainRankSvm(train, lambda, options).value();
      gap = result.descent.gap() / result.descent.objective;
    });
    absl::PrintF(" %.2f%s", time, gap > 1e-3 ? " (open)" : "");
    worst = std::max(worst, gap > 1e-3 ? HUGE_VAL : time);
  }
  absl::PrintF("\n");
  targets->push_back(
      {absl::StrCat("RankSVM by ",
                    config::v1::RankSvmOptions::Weighting_Name(weighting),
                    ", a fold, gap 1e-3, worst C, CPU s"),
       worst, 2});
}

absl::Status TimeTraining(std::vector<Target>* targets) {
  ASSIGN_OR_RETURN(const LetorFolds data,
                   ReadLetorFolds(absl::GetFlag(FLAGS_letor)));
  std::vector<LabelledItems> all;
  for (const LetorFold& fold : data.folds) {
    all.insert(all.end(), fold.test.begin(), fold.test.end());
  }
  TimeEpoch(all, targets);
  for (const auto weighting : {config::v1::RankSvmOptions::PAIRS,
                               config::v1::RankSvmOptions::QUERIES}) {
    TimeRankSvm(data.folds[0].train, weighting, targets);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<Target>> Run() {
  std::vector<Target> targets;
  ASSIGN_OR_RETURN(Target gradient, TimeGradient());
  targets.push_back(std::move(gradient));
  absl::PrintF(
      "NDCG inference of 1000 items, CPU ms by deviation of scores 0, 1e-7, "
      "1e-6, 1e-5, 1e-4, 1e-2, 1\n");
  TimeInference(&targets);
  if (!absl::GetFlag(FLAGS_letor).empty()) {
    RETURN_IF_ERROR(TimeTraining(&targets));
  }
  return targets;
}

}  // namespace
}  // namespace sortition

int main(int argc, char** argv) {
  return sortition::RunBenchmark(argc, argv, "Times structured losses.",
                                 sortition::Run);
}
