"""The fixed lists that every other room refers to: languages, functionalities, targets.

Numbers, classes and gold labels are those of the paper's Table 9 (the descriptions are ours); targets and protected groups those of its Table 5.
Functionalities are keyed by name: HateCheck numbers its own tests otherwise.
"""

from typing import NamedTuple

LABELS = ("non-hateful", "hateful")
VOTES = (*LABELS, "nonsensical")


class Language(NamedTuple):
    name: str  # the config's name
    code: str  # the release's two letters, and the prefix of case ids
    bcp47: str
    title: str  # as the paper's tables print it


class Functionality(NamedTuple):
    name: str
    id: str  # the paper's number
    functional_class: str
    gold: str
    description: str


LANGUAGES = {
    language.name: language
    for language in (
        Language("singlish", "ss", "en-SG", "Singlish"),
        Language("malay", "ms", "ms-SG", "Malay"),
        Language("mandarin", "zh", "cmn-Hans-SG", "Mandarin"),
        Language("tamil", "ta", "ta-SG", "Tamil"),
    )
}

FUNCTIONALITIES = {
    name: Functionality(name, id, functional_class, "hateful" if name.endswith("_h") else "non-hateful", description)
    for name, id, functional_class, description in (
        ("derog_neg_emote_h", "F1", "Derogation", "says outright that the group is disliked"),
        ("derog_neg_attrib_h", "F2", "Derogation", "ascribes very bad traits to the group"),
        ("derog_dehum_h", "F3", "Derogation", "denies that the group is human"),
        ("derog_impl_h", "F4", "Derogation", "derogates without saying so"),
        ("threat_dir_h", "F5", "Threatening language", "threatens the group directly"),
        ("threat_norm_h", "F6", "Threatening language", "says that harm to the group would be right"),
        ("slur_h", "F7", "Slurs", "uses a slur against the group"),
        ("profanity_h", "F8", "Profanity usage", "hate that uses profanity"),
        ("profanity_nh", "F9", "Profanity usage", "profanity that harms nobody"),
        ("ref_subs_clause_h", "F10", "Pronoun reference", "hate by a pronoun in a later clause"),
        ("ref_subs_sent_h", "F11", "Pronoun reference", "hate by a pronoun in a later sentence"),
        ("negate_pos_h", "F12", "Negation", "hate as a negated positive statement"),
        ("negate_neg_nh", "F13", "Negation", "a negated hateful statement"),
        ("phrase_question_h", "F14", "Phrasing", "hate put as a question"),
        ("phrase_opinion_h", "F15", "Phrasing", "hate put as an opinion"),
        ("ident_neutral_nh", "F16", "Non-hateful group identifier", "names the group in a neutral statement"),
        ("ident_pos_nh", "F17", "Non-hateful group identifier", "names the group in a positive statement"),
        ("counter_quote_nh", "F18", "Counter speech", "quotes hate in order to denounce it"),
        ("counter_ref_nh", "F19", "Counter speech", "refers to hate in order to denounce it"),
        ("target_obj_nh", "F20", "Abuse against non-protected targets", "abuse of objects"),
        ("target_indiv_nh", "F21", "Abuse against non-protected targets", "abuse of a person, not as a member of a group"),
        ("target_group_nh", "F22", "Abuse against non-protected targets", "abuse of groups that are not protected"),
        ("spell_char_swap_h", "F23", "Spelling variations", "two neighbouring characters swapped"),
        ("spell_char_del_h", "F24", "Spelling variations", "characters left out"),
        ("spell_space_del_h", "F25", "Spelling variations", "words run together"),
        ("spell_space_add_h", "F26", "Spelling variations", "blanks inside words"),
        ("spell_leet_h", "F27", "Spelling variations", "letters replaced by digits and signs"),
        ("spell_homoph_h", "F32", "Spelling variations", "Chinese characters replaced by homophones"),
        ("spell_char_comp_h", "F33", "Spelling variations", "Chinese characters taken apart"),
        ("spell_pinyin_h", "F34", "Spelling variations", "Chinese words in pinyin"),
    )
}

PROTECTED_GROUPS = {
    "Seniors": "Age",
    "Mentally Ill": "Disability",
    "Physically Disabled": "Disability",
    "Homosexual": "Gender/Sexuality",
    "Transsexual": "Gender/Sexuality",
    "Women": "Gender/Sexuality",
    "Immigrants": "Nationality",
    "Chinese": "Race",
    "Indians": "Race",
    "Malay": "Race",
    "Buddhist": "Religion",
    "Christian": "Religion",
    "Hindu": "Religion",
    "Muslim": "Religion",
}


def language_named(name_or_code: str) -> Language | None:
    """The language with this config name or release code, or None."""
    return next((language for language in LANGUAGES.values() if name_or_code in (language.name, language.code)), None)


def gold_of(functionality: str) -> str | None:
    """The gold label that the functionality's ending fixes (`_h` hateful, `_nh` non-hateful), or None where it has neither."""
    if functionality.endswith("_nh"):
        return "non-hateful"
    return "hateful" if functionality.endswith("_h") else None
