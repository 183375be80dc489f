// Aggregate within its bounds: of work, of time, and of what a double holds.
#include <algorithm>
#include <cmath>
#include <ctime>
#include <iostream>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "io/spool/spool_writer.h"
#include "server/decisions/aggregate_service.h"
#include "tests/server/server_fixture.h"
#include "tests/testing/child_process.h"
#include "tests/testing/patience.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace sortition {
namespace {

using absl::StatusCode;
using testing::HasSubstr;
using testing::SizeIs;

class AggregateLimitsTest : public testing::Test {
 protected:
  absl::Status Aggregate(const v1::AggregateRequest& request) {
    return AggregateService(limits_, nullptr, &metrics_)
        .Aggregate(request, &scratch_, &response_);
  }

  config::v1::RequestLimits limits_;
  Metrics metrics_;
  DecisionScratch scratch_;
  v1::AggregateResponse response_;
};

std::vector<double> NumbersOf(const v1::AggregateResponse& response) {
  std::vector<double> numbers = {response.total_variation(),
                                 response.result().log_propensity()};
  const auto add = [&numbers](const auto& more) {
    numbers.insert(numbers.end(), more.begin(), more.end());
  };
  add(response.divergences());
  add(response.conditional_log_propensities());
  add(response.result().scores());
  for (const v1::PairConfidence& pair : response.pairs()) {
    add(std::vector<double>{pair.difference(), pair.lower(), pair.upper(),
                            pair.support()});
  }
  return numbers;
}

template <typename T>
T OneOf(const std::vector<T>& values, std::mt19937_64* random) {
  return values[(*random)() % values.size()];
}

uint32_t Below(uint32_t end, std::mt19937_64* random) {
  return static_cast<uint32_t>((*random)() % end);
}

// A request that is valid, or nearly so, of numbers at the ends of their
// ranges.
v1::AggregateRequest AdversarialRequest(std::mt19937_64* random) {
  const float top = std::numeric_limits<float>::max();
  const float least = std::numeric_limits<float>::denorm_min();
  const std::vector<float> scores = {0,    -0.0f, 1,    -1,  least, -least,
                                     1e10, -1e10, 1e-9, top, -top,  0.3f};
  const std::vector<double> weights = {0, 5e-324,  1e-300,    1,
                                       3, 1.6e299, 1e300 / 6, 1e300};
  const uint32_t sources = 1 + Below(6, random);
  const uint32_t n = 2 + Below(7, random);
  v1::AggregateRequest request;
  std::vector<float> values(size_t{n} * sources);
  const bool is_adversarial = Below(4, random) != 0;
  for (float& value : values) {
    value = is_adversarial ? OneOf(scores, random)
                           : std::normal_distribution<float>()(*random);
  }
  SetDense(sources, values, request.mutable_context());
  request.mutable_context()->set_return_scores(true);
  request.mutable_aggregation()->set_scale(OneOf<v1::Aggregation::Scale>(
      {v1::Aggregation::MIN_MAX, v1::Aggregation::RANK, v1::Aggregation::NONE},
      random));
  if (Below(3, random) != 0) {
    for (uint32_t s = 0; s < sources; ++s) {
      request.mutable_aggregation()->add_weights(OneOf(weights, random));
    }
  }
  request.set_divergence(OneOf<v1::AggregateRequest::Divergence>(
      {v1::AggregateRequest::DCG, v1::AggregateRequest::ALL_PAIRS,
       v1::AggregateRequest::TOP},
      random));
  if (request.divergence() != v1::AggregateRequest::ALL_PAIRS) {
    request.set_cutoff(1 + Below(9, random));
  }
  if (Below(2, random) == 0) {
    request.set_concentration(
        OneOf<double>({5e-324, 1e-300, 1e-9, 1, 1e6}, random));
    request.set_uniform_mixture(OneOf<double>({0, 5e-324, 0.1, 1}, random));
    request.set_head(Below(9, random));
  }
  request.set_bootstrap_samples(Below(20, random));
  request.set_confidence(OneOf<double>({5e-324, 0.5, 0.95, 1 - 1e-16}, random));
  return request;
}

// A request of many scores, whose bootstrap takes all the time there is.
v1::AggregateRequest LargeRequest(std::mt19937_64* random) {
  const uint32_t sources = OneOf<uint32_t>({1, 3, 20, 300}, random);
  const uint32_t n = OneOf<uint32_t>({2, 100, 2'000, 20'000}, random);
  v1::AggregateRequest request = AdversarialRequest(random);
  std::vector<float> values(std::min(300'000u, n * sources) / sources *
                            sources);
  for (float& value : values) value = static_cast<float>((*random)() % 1000);
  SetDense(sources, values, request.mutable_context());
  request.mutable_aggregation()->clear_weights();
  const auto eligible = static_cast<uint32_t>(values.size()) / sources;
  request.set_bootstrap_samples(
      std::min(100'000u, 20'000'000 / (sources * std::min(100u, eligible))));
  return request;
}

double SecondsOf(clockid_t clock) {
  timespec time = {};
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) +
         1e-9 * static_cast<double>(time.tv_nsec);
}

// How far a call went beyond its deadline.
struct Lateness {
  double cpu = -HUGE_VAL;   // By the time that its thread had.
  double wall = -HUGE_VAL;  // By the clock.
};

// Another program may take the processor away from a call, and its caches, at
// any moment; so what is late is repeated, and the least counts.
class DeadlineTest : public AggregateLimitsTest {
 protected:
  static constexpr double kMostSeconds = 0.005;

  absl::Status CallInTime(const v1::AggregateRequest& request, double seconds) {
    absl::Status status = Call(request, seconds);
    Lateness least = last_;
    for (int i = 0; i < 5 && least.cpu > Patience(kMostSeconds); ++i) {
      status = Call(request, seconds);
      if (last_.cpu < least.cpu) least = last_;
      ++num_repeated_;
    }
    worst_.cpu = std::max(worst_.cpu, least.cpu);
    worst_.wall = std::max(worst_.wall, least.wall);
    return status;
  }

  Lateness worst_;
  int num_repeated_ = 0;

 private:
  absl::Status Call(const v1::AggregateRequest& request, double seconds) {
    scratch_.seconds_left = seconds;
    const double cpu = SecondsOf(CLOCK_THREAD_CPUTIME_ID);
    const double wall = SecondsOf(CLOCK_MONOTONIC);
    const absl::Status status = Aggregate(request);
    last_ = {.cpu = SecondsOf(CLOCK_THREAD_CPUTIME_ID) - cpu - seconds,
             .wall = SecondsOf(CLOCK_MONOTONIC) - wall - seconds};
    return status;
  }

  Lateness last_;
};

void ExpectFinite(const v1::AggregateRequest& request,
                  const v1::AggregateResponse& response) {
  for (const double number : NumbersOf(response)) {
    ASSERT_TRUE(std::isfinite(number))
        << request.ShortDebugString() << " answers "
        << response.ShortDebugString();
  }
  for (const v1::PairConfidence& pair : response.pairs()) {
    ASSERT_LE(pair.lower(), pair.upper()) << request.ShortDebugString();
  }
}

TEST_F(DeadlineTest, EveryAnswerIsFiniteAndNoneIsLate) {
  const int calls = IsLongRun() ? 1'000'000 : 20'000;
  std::mt19937_64 random(11);
  int answered = 0;
  int without_time = 0;
  for (int i = 0; i < calls; ++i) {
    const bool is_large = i % 100 == 0;
    const v1::AggregateRequest request =
        is_large ? LargeRequest(&random) : AdversarialRequest(&random);
    const absl::Status status = CallInTime(
        request,
        OneOf<double>({is_large ? 0.05 : HUGE_VAL, 0, 1e-6, 1e-4, 1e-3, 0.01},
                      &random));
    if (status.ok()) {
      ++answered;
      ASSERT_NO_FATAL_FAILURE(ExpectFinite(request, response_));
    } else if (absl::IsDeadlineExceeded(status)) {
      ++without_time;
    } else {
      ASSERT_EQ(status.code(), StatusCode::kInvalidArgument) << status;
    }
  }
  std::cout << answered << " of " << calls << " calls answered, "
            << without_time << " refused for lack of time; the worst was late "
            << "by " << 1e3 * worst_.cpu << " ms of its thread's time, "
            << 1e3 * worst_.wall << " ms of the clock; " << num_repeated_
            << " repetitions\n";
  EXPECT_GT(answered, calls / 4);
  EXPECT_LT(worst_.cpu, Patience(kMostSeconds));
}

// The case in which all of 60 answers had a NaN: the weights times the scores
// are beyond a double.
TEST_F(AggregateLimitsTest, WeightsTimesScoresMayBeLargerThanADouble) {
  v1::AggregateRequest request;
  SetDense(6,
           {1e10, -1e10, 1e10, -1e10, 1e10, 1e10, -1e10, 1e10, -1e10, 1e10,
            -1e10, 1e10, 0, 0, 0, 0, 0, 0},
           request.mutable_context());
  request.mutable_aggregation()->set_scale(v1::Aggregation::NONE);
  for (int s = 0; s < 6; ++s) {
    request.mutable_aggregation()->add_weights(1.6e299);
  }
  request.set_bootstrap_samples(2000);
  ASSERT_OK(Aggregate(request));
  ASSERT_THAT(response_.pairs(), SizeIs(2));
  for (const double number : NumbersOf(response_)) {
    EXPECT_TRUE(std::isfinite(number));
  }
}

// Ten candidates make nine pairs; 3 sources times 9 pairs are 27 a sample.
TEST_F(AggregateLimitsTest, WorkIsBounded) {
  limits_.set_max_aggregate_work(2700);
  v1::AggregateRequest request;
  SetDense(3, std::vector<float>(30, 1), request.mutable_context());
  request.set_bootstrap_samples(100);
  EXPECT_OK(Aggregate(request));
  request.set_bootstrap_samples(101);
  EXPECT_THAT(
      Aggregate(request),
      StatusIs(StatusCode::kInvalidArgument,
               HasSubstr("bootstrap_samples = 101: must be in [0, 100] for 3 "
                         "sources and 9 pairs of neighbours "
                         "(limits.max_aggregate_work = 2700)")));
}

TEST_F(AggregateLimitsTest, TheBootstrapEndsBeforeTheDeadline) {
  v1::AggregateRequest request;
  std::vector<float> values(202);
  for (size_t e = 0; e < values.size(); ++e) {
    values[e] = static_cast<float>((e * 37) % 101);
  }
  SetDense(2, values, request.mutable_context());
  request.set_bootstrap_samples(100'000);
  scratch_.seconds_left = 0;
  EXPECT_THAT(Aggregate(request),
              StatusIs(StatusCode::kDeadlineExceeded,
                       HasSubstr("deadline too near for 202 scores; not")));
  // How long the order takes depends on the machine, and on what else runs
  // there; all samples take some thousand times as long.
  double seconds = 0.001;
  EXPECT_TRUE(PollUntil(Patience(60), [&] {
    scratch_.seconds_left = seconds;
    const bool is_answered = Aggregate(request).ok();
    const bool is_cut = !response_.result().degraded().empty();
    seconds = is_answered && !is_cut ? 0.001 : 1.5 * seconds;
    return is_answered && is_cut;
  }));
  EXPECT_THAT(response_.order(), SizeIs(101));
  EXPECT_THAT(response_.divergences(), SizeIs(2));
  EXPECT_THAT(response_.result().degraded(),
              HasSubstr("bootstrap_samples = 100000 cut to "));
}

// The time runs out somewhere on the way, wherever that is.
TEST_F(AggregateLimitsTest, NothingIsLoggedWithoutTimeForTheOrder) {
  const TempDir dir;
  config::v1::SpoolOptions options;
  options.set_dir(dir.path());
  ASSERT_OK_AND_ASSIGN(const auto spool, SpoolWriter::Open(options, ""));
  AggregateService service(limits_, spool.get(), &metrics_);
  v1::AggregateRequest request;
  SetDense(20, std::vector<float>(40'000, 1), request.mutable_context());
  request.mutable_aggregation()->set_scale(v1::Aggregation::RANK);
  size_t answered = 0;
  for (int i = 0; i < 30; ++i) {
    scratch_.seconds_left = 0.0006 + 0.0001 * i;
    const absl::Status status =
        service.Aggregate(request, &scratch_, &response_);
    EXPECT_TRUE(status.ok() || absl::IsDeadlineExceeded(status)) << status;
    answered += status.ok() ? 1 : 0;
  }
  EXPECT_LT(answered, 30u);
  ASSERT_OK(spool->Close());
  EXPECT_THAT(ReadSpool(dir.path()), SizeIs(answered));
}

}  // namespace
}  // namespace sortition
