#pragma once
// Documents in JSON and in UBJSON (ubjson.org, draft 12, as XGBoost writes it).
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "io/scorers/document_value.h"

namespace sortition {

// A number with a point or an exponent is rounded once, to a float, because
// XGBoost writes floats, NaN and Infinity among them. InvalidArgument
// names the byte where the text is not JSON or beyond a limit of
// DocumentBuilder.
absl::StatusOr<DocumentValue> ParseJsonDocument(absl::string_view text);

// InvalidArgument names the byte where the bytes are not UBJSON or beyond a
// limit of DocumentBuilder. Numbers of high precision (H) are refused.
absl::StatusOr<DocumentValue> ParseUbjsonDocument(absl::string_view bytes);

}  // namespace sortition
