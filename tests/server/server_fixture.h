#pragma once
// A model store, a spool and requests for tests of the server.
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "io/models/model_store.h"
#include "io/segments/segment.h"
#include "sortition/config/v1/server.pb.h"
#include "sortition/log/v1/log.pb.h"
#include "sortition/v1/ranking.pb.h"

namespace sortition {

inline model::v1::Model MakeModel(const std::string& name,
                                  const std::vector<double>& weights) {
  model::v1::Model model;
  model.set_name(name);
  model.set_num_features(static_cast<uint32_t>(weights.size()));
  model.mutable_weights()->Assign(weights.begin(), weights.end());
  model.mutable_policy()->set_inverse_temperature(1);
  return model;
}

inline model::v1::Model MakeSelectModel(const std::string& name,
                                        const std::vector<double>& weights) {
  model::v1::Model model = MakeModel(name, weights);
  model.mutable_policy()->mutable_softmax_selection();
  return model;
}

inline model::v1::Model MakeRankModel(const std::string& name,
                                      const std::vector<double>& weights) {
  model::v1::Model model = MakeModel(name, weights);
  model.mutable_policy()->mutable_plackett_luce();
  return model;
}

// The salt of all versions of these tests, so that draws repeat.
inline constexpr char kDrawSalt[] = "0123456789abcdef0123456789abcdef";

// Publishes `model` as the next version and returns the version; 0 on error.
inline uint64_t Publish(const std::string& root,
                        const model::v1::Model& model) {
  const auto version =
      ModelStore(root).Publish(model, nullptr, {}, {.draw_salt = kDrawSalt});
  EXPECT_TRUE(version.ok()) << version.status();
  return version.value_or(0);
}

inline void SetDense(uint32_t num_features, const std::vector<float>& values,
                     v1::DecisionContext* context) {
  context->mutable_candidates()->set_num_features(num_features);
  context->mutable_candidates()->mutable_dense()->mutable_values()->Assign(
      values.begin(), values.end());
}

// Returns the records of all segments of a spool, without headers and footers.
inline std::vector<log::v1::LogRecord> ReadSpool(const std::string& dir) {
  std::vector<log::v1::LogRecord> records;
  const auto names = ListSegments(dir);
  EXPECT_TRUE(names.ok()) << names.status();
  if (!names.ok()) return records;
  for (const std::string& name : *names) {
    auto reader = SegmentReader::Open(dir + "/" + name);
    EXPECT_TRUE(reader.ok()) << reader.status();
    if (!reader.ok()) continue;
    absl::string_view payload;
    uint64_t offset = 0;
    while (true) {
      const auto outcome = (*reader)->Next(&payload, &offset);
      EXPECT_TRUE(outcome.ok()) << outcome.status();
      if (!outcome.ok() || *outcome != SegmentReader::Outcome::kRecord) break;
      log::v1::LogRecord record;
      EXPECT_TRUE(record.ParseFromArray(payload.data(),
                                        static_cast<int>(payload.size())));
      if (!record.has_header() && !record.has_footer()) {
        records.push_back(std::move(record));
      }
    }
  }
  return records;
}

}  // namespace sortition
