#pragma once
// A registry of the model "m" over an empty store, not started.
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "server/models/model_registry.h"
#include "tests/server/server_fixture.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace sortition {

class ModelRegistryTest : public testing::Test {
 protected:
  ModelRegistryTest() {
    options_.set_model_store(directory_ / "models");
    options_.set_default_model("m");
    registry_ = std::make_unique<ModelRegistry>(options_, &metrics_);
  }

  const std::string& root() const { return options_.model_store(); }
  std::string VersionPath(uint64_t version) const {
    return absl::StrCat(root(), "/m/", version);
  }

  // Returns the version that serves "m".
  uint64_t Serving() const {
    const auto model = registry_->Find("m");
    EXPECT_OK(model);
    return model.ok() ? (*model)->primary->version : 0;
  }

  // Returns how often a version of "m" was refused for this reason.
  double Failures(const std::string& reason) {
    return metrics_
        .Counter("sortition_model_load_failures_total", "",
                 {{"model", "m"}, {"reason", reason}})
        ->value();
  }

  // What the registry knows of "m".
  ModelState State() const {
    for (ModelState& state : registry_->List()) {
      if (state.set->name == "m") return state;
    }
    return {};
  }

  TempDir directory_;
  config::v1::ServerOptions options_;
  Metrics metrics_;
  std::unique_ptr<ModelRegistry> registry_;
};

}  // namespace sortition
