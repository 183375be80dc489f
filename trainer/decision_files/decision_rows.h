#pragma once
// Rows of a file that say something of a decision each: JSON objects with a
// decision_id, one in a line; CSV with such a column; or NumPy arrays (.npz),
// one of them with the ids.
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace sortition {

// All errors name file and line, and the field that is wrong with its value.
class DecisionRows {
 public:
  virtual ~DecisionRows() = default;

  // By the first bytes: an archive of arrays; JSON if they are a brace;
  // otherwise CSV, whose first line names the columns. InvalidArgument if there
  // is no decision_id.
  static absl::StatusOr<std::unique_ptr<DecisionRows>> Open(
      const std::string& path);

  // Goes to the next row; returns false at the end. Empty lines are passed
  // over. InvalidArgument if the row has no decision_id, or follows the
  // declaration of through().
  virtual absl::StatusOr<bool> Next() = 0;

  // Returns the text of the time up to which the file declares that it is
  // complete; empty: no declaration. The declaration is the last line, so that
  // a truncated file has none: "# through=TIME" in CSV, {"through": "TIME"} in
  // JSON. In NumPy it is an array `through` with one text. Valid once Next()
  // has returned false.
  const std::string& through() const { return through_; }

  // Valid until the next row.
  absl::string_view decision_id() const { return decision_id_; }
  uint64_t line() const { return line_; }

  // Returns a finite number: a member, or the cell of a column. Nothing if
  // there is none, or it is empty.
  virtual absl::StatusOr<std::optional<double>> Number(
      absl::string_view name) const = 0;

  // Reads finite numbers: the array `name`, or the cells of the columns
  // `prefix`0, `prefix`1 and so on, of which the last may be empty. Returns
  // false if there is none.
  virtual absl::StatusOr<bool> Numbers(absl::string_view name,
                                       absl::string_view prefix,
                                       std::vector<double>* numbers) const = 0;

  // Returns an InvalidArgument error about the row.
  absl::Status Wrong(absl::string_view what) const;

 protected:
  explicit DecisionRows(std::string path) : path_(std::move(path)) {}

  // Returns InvalidArgument if a row follows the declaration of through().
  absl::Status CheckNotEnded() const;

  const std::string path_;
  absl::string_view decision_id_;
  uint64_t line_ = 0;
  std::string through_;
};

}  // namespace sortition
