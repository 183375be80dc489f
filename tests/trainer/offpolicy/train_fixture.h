#pragma once
// A simulated log on disk, for tests of `train` on it.
#include "gtest/gtest.h"
#include "io/models/model_store.h"
#include "sortition/config/v1/train.pb.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"
#include "tests/trainer/synthetic_tuples.h"

namespace sortition {

// Writes the tuples of `log` to one directory, and their logging model as
// version 1 to another.
class TrainFixture : public testing::Test {
 protected:
  void Prepare(const SyntheticLog& log, size_t n) {
    WriteSegment(dir_.Sub("tuples"), 0, MakeTuples(log, n));
    ASSERT_OK(store_.Publish(LoggingModel(log), nullptr, {}));
    options_.set_tuples(dir_.Sub("tuples"));
    options_.set_model_store(dir_.Sub("models"));
    options_.mutable_poem()->add_lambda(0.5);
    options_.mutable_poem()->add_l2(1e-4);
  }

  TempDir dir_;
  ModelStore store_{dir_.Sub("models")};
  config::v1::TrainOptions options_;
};

}  // namespace sortition
