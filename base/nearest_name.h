// "did you mean …?": the known name nearest to one that a person mistyped.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace loadline {

// By edit distance, whatever the case; a name of which four letters or more are typed is one edit
// away. Empty where none is within three edits (or half of a short name).
std::string nearest_name(std::string_view typed, const std::vector<std::string>& known);

}  // namespace loadline
