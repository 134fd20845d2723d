/** What is said of registers that somebody looks for. */
export const DETECT = {
  "detect.no_register":
    "No register there answers: check the address, and the unit id with --unit, or try another table.",
  "detect.all_zero":
    "Nothing plausible: every register there is zero. Look again when the machine runs, or give --expect 0.",
  "detect.none_within":
    "Nothing plausible: the registers answer, and no way of reading them lies within {bounds}. Give --expect VALUE as the display shows it.",
  "detect.usual": "what is usual",
  "detect.at_most": "what the tag allows, at most {max}",
  "detect.at_least": "what the tag allows, at least {min}",
  "detect.between": "what the tag allows, {min} to {max}",
  "detect.nothing_near": "Nothing within {share} of {expect}. {then}",
  "detect.nearest": "The nearest that was read:",
  "detect.check_display":
    "Check the display once more, the address and the unit id; try other types with --type, or a tag with a scale.",
  "detect.a_bit":
    "{operand} means a bit in table {table}, which has no order to detect; for a register write {holding} or {input}",
  "detect.no_orders": "the profile {profile} is for {protocol}: its values have no orders",
  "detect.no_tag": "{why}, and the profile {profile} has no tag of that name",
  "detect.no_type": "{name} is no type to detect; there are {names}",
  "detect.reading": "reading {place}",
} as const;
