#include "bench/exchange/exchange_logs.h"

#include <cmath>
#include <random>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/base/status_macros.h"
#include "io/files.h"
#include "io/segments/segment_batch.h"

namespace sortition {

absl::Status WriteTuples(const LogShape& shape, const std::string& dir) {
  ASSIGN_OR_RETURN(const auto batch,
                   SegmentBatch::Create({.dir = dir,
                                         .writer_id = "bench",
                                         .kind = log::v1::SegmentHeader::TUPLES,
                                         .segment_bytes = 1 << 28,
                                         .options_text = "bench"}));
  std::mt19937 random(7);
  std::normal_distribution<float> normal;
  log::v1::LogRecord record;
  for (int i = 0; i < shape.decisions; ++i) {
    log::v1::BanditTuple* tuple = record.mutable_tuple();
    tuple->Clear();
    tuple->set_reward(normal(random));
    tuple->set_has_feedback(true);
    log::v1::Decision* decision = tuple->mutable_decision();
    decision->set_decision_id(absl::StrFormat("decision-%08d", i));
    decision->set_time_us(1700000000000000 + 1000 * int64_t{i});
    decision->set_unit_id(absl::StrCat("unit-", i % 1000));
    decision->set_model("default");
    decision->set_version(3);
    decision->set_action_kind(log::v1::SELECT);
    decision->set_num_candidates(shape.candidates);
    decision->set_num_features(shape.features);
    decision->add_action(static_cast<int32_t>(random() % shape.candidates));
    decision->set_log_propensity(-0.1 - std::abs(normal(random)));
    for (uint32_t k = 0; k < shape.candidates * shape.features; ++k) {
      decision->add_dense_values(normal(random));
    }
    RETURN_IF_ERROR(batch->Append(record));
  }
  return batch->Publish();
}

absl::Status WriteObdFile(int lines, const std::string& path) {
  constexpr int kItems = 80;
  constexpr int kUserFeatures = 4;
  std::mt19937 random(8);
  std::string text = ",timestamp,item_id,position,click,propensity_score";
  for (int i = 0; i < kUserFeatures; ++i) {
    absl::StrAppend(&text, ",user_feature_", i);
  }
  for (int i = 0; i < kItems; ++i) {
    absl::StrAppend(&text, ",user-item_affinity_", i);
  }
  text.push_back('\n');
  for (int line = 0; line < lines; ++line) {
    absl::StrAppendFormat(&text, "%d,2019-11-24 00:%02d:%02d.%06d+00:00,%d,%d,",
                          line, line / 60 % 60, line % 60, line % 1000000,
                          random() % kItems, 1 + random() % 3);
    absl::StrAppend(&text, random() % 200 == 0 ? 1 : 0, ",0.0125");
    for (int i = 0; i < kUserFeatures; ++i) {
      // A hash of one of ten values, as in the published files.
      absl::StrAppendFormat(&text, ",%032x", 0x9E3779B9u * (random() % 10 + 1));
    }
    for (int i = 0; i < kItems; ++i) {
      text += random() % 50 == 0 ? ",1.0" : ",0.0";
    }
    text.push_back('\n');
  }
  return WriteFile(path, text);
}

}  // namespace sortition
