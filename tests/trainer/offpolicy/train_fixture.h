#pragma once
// A simulated log on disk, for tests of `train` on it.
#include "sortition/config/v1/train.pb.h"
#include "tests/trainer/synthetic_tuples.h"

namespace sortition {

// `train` on the tuples of one directory, with a model store in another.
class TrainFixture : public testing::Test {
 protected:
  TrainFixture() {
    options_.set_tuples(dir_.Sub("tuples"));
    options_.set_model_store(dir_.Sub("models"));
    options_.mutable_poem()->set_optimiser(config::v1::PoemOptions::STOCHASTIC);
    options_.mutable_poem()->add_lambda(0.5);
    options_.mutable_poem()->add_l2(1e-4);
    // Tests train on the same tuples again, by options that differ.
    options_.set_look_now(true);
  }

  // Writes the tuples, and publishes what logged them as the next version.
  void Prepare(const std::vector<log::v1::BanditTuple>& tuples,
               const model::v1::Model& logging) {
    WriteSegment(dir_.Sub("tuples"), num_segments_++, tuples);
    ASSERT_OK(store_.Publish(logging, nullptr, {}));
  }
  void Prepare(const SyntheticLog& log, size_t n) {
    Prepare(MakeTuples(log, n), LoggingModel(log));
  }
  // The same for version 2.
  void PrepareSecond(const SyntheticLog& log, size_t n) {
    Prepare(MakeTuples(log, n, "new"), LoggingModel(log));
  }

  TempDir dir_;
  ModelStore store_{dir_.Sub("models")};
  uint64_t num_segments_ = 0;
  config::v1::TrainOptions options_;
};

}  // namespace sortition
