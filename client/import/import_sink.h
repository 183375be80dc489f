#pragma once
// Where importers put tuples, and what they could not read.
#include <cstdint>
#include <functional>
#include <string>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "core/base/hash.h"
#include "io/columns/undeclared_columns.h"
#include "sortition/log/v1/log.pb.h"

namespace sortition {

struct InputPlace {
  absl::string_view file;
  uint64_t line = 0;
};

// Keeps 16 bytes of every decision id. Not thread-safe.
class ImportSink {
 public:
  using Take = std::function<absl::Status(const log::v1::LogRecord&)>;
  // Without `skip_bad` the first bad decision is fatal.
  ImportSink(bool skip_bad, Take take);

  // Takes the tuple in `record` if it is one that can be learned from and its
  // id is new; else it is bad.
  void Add(const log::v1::LogRecord& record, const InputPlace& place);
  // A decision could not be read.
  void Bad(const InputPlace& place, const absl::Status& why);
  // Nothing more can be read.
  void Fail(const InputPlace& place, const absl::Status& why);

  // The first fatal error.
  const absl::Status& status() const { return status_; }
  // Call at the end: also an error if too many decisions were bad, or all.
  absl::Status Finish() const;

  uint64_t tuples() const { return tuples_; }
  uint64_t bad() const { return bad_; }
  const absl::Status& first_bad() const { return first_bad_; }

 private:
  const bool skip_bad_;
  const Take take_;
  UndeclaredColumns columns_;  // Of the last tuple.
  absl::flat_hash_set<Hash128, Hash128Hasher> ids_;
  uint64_t tuples_ = 0;
  uint64_t bad_ = 0;
  absl::Status first_bad_;
  absl::Status status_;
};

}  // namespace sortition
