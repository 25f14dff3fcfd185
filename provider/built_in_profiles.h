// The texts of provider/profiles/*.yaml, as the build put them into the binary. Immutable, there
// for the whole program.
#pragma once

#include <span>
#include <string_view>

namespace loadline::provider {

struct ProfileText {
  std::string_view file, text;
};

std::span<const ProfileText> built_in_profile_texts();

}  // namespace loadline::provider
