#pragma once
// Reads the orders that a run of `train` trusts from the source that its
// options name.
#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "core/aggregation/order.h"
#include "sortition/config/v1/train.pb.h"
#include "sortition/config/v1/train_report.pb.h"
#include "trainer/labelled/labelled_data.h"

namespace sortition {

// InvalidArgument unless options.trusted_order has weights and one source, each
// within its range. Requires that it is set.
absl::Status CheckTrustedOrder(const config::v1::TrainOptions& options);

struct TrustedSource {
  std::vector<Order> orders;  // One for each training query.
  uint64_t version = 0;       // Version of the model; 0: another source.
  config::v1::LabelledReport::TrustedOrder report;
};

// Equal scores are in a pseudo-random order that is the same for the same data,
// because files often list relevant candidates first. Requires options that
// were checked, and data as read, without a constant feature. InvalidArgument
// names the wrong option, or the file and line. It also reports orders that
// pull nowhere: all scores of every training query are equal, or TOP counts all
// ranks. NotFound if the store has no such version.
absl::StatusOr<TrustedSource> ReadTrustedOrders(
    const config::v1::TrainOptions& options, const LabelledData& data);

}  // namespace sortition
