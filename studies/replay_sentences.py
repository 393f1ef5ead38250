"""English sentences of the translation task's replay set: plain sentences composed from parts, and sentences of novels.

The composed sentences were written for this repository (CC0-1.0). The novels are in the public domain everywhere: Jane
Austen, Lewis Carroll, Charles Dickens, Arthur Conan Doyle, Herman Melville, Mary Shelley, Mark Twain, H. G. Wells.
"""

import numpy as np

SOURCE = (
    "English sentences that were composed for this repository (CC0-1.0), and sentences of novels in the public domain "
    "(Austen, Carroll, Dickens, Doyle, Melville, Shelley, Twain, Wells)"
)

_PARTS: dict[str, tuple[str, ...]] = {
    "who": (
        "My sister", "The old teacher", "Our neighbour", "The new director", "A young engineer", "The committee",
        "His grandfather", "The driver", "Every student", "Their doctor", "The librarian", "A group of tourists",
    ),
    "did": (
        "bought a small house", "forgot the keys", "found the answer", "signed the contract", "lost the umbrella",
        "read the whole report", "repaired the bicycle", "wrote a long letter", "missed the last train",
        "cooked dinner for six people", "answered all the questions", "painted the kitchen blue",
    ),
    "when": (
        "yesterday", "last summer", "on Monday morning", "before the meeting", "two weeks ago", "in 1998",
        "after the rain stopped", "at half past seven", "during the holidays", "shortly before midnight",
    ),
    "where": (
        "near the station", "in the city centre", "at the end of the street", "by the river", "in a small village",
        "on the third floor", "behind the museum", "at the airport", "in the mountains", "next to the school",
    ),
    "thing": (
        "the bridge", "this computer", "the red car", "the hotel room", "that book", "the garden", "the old factory",
        "our apartment", "the coffee machine", "the main entrance",
    ),
    "quality": (
        "too expensive", "surprisingly quiet", "almost empty", "older than I thought", "not very comfortable",
        "much bigger than it looks", "closed for repairs", "exactly what we need", "hard to find", "ready to use",
    ),
    "number": ("3", "12", "45", "180", "2,500", "1.5 million", "seven", "about forty", "0.8", "ninety-nine"),
    "unit": ("kilometres", "euros", "people", "years", "litres of water", "tonnes of steel", "pages", "minutes"),
    "topic": (
        "energy prices", "the election", "climate change", "public transport", "the new tax law", "food safety",
        "data protection", "the labour market", "road accidents", "university fees",
    ),
    "body": (
        "The government", "The European Commission", "The ministry", "The city council", "A spokesman for the company",
        "The World Health Organization", "The central bank", "The court",
    ),
    "said": (
        "announced", "confirmed", "denied", "warned", "proposed new rules", "published a report", "asked for more time",
    ),
    "act": (
        "open the file", "restart the server", "press the green button", "update the software", "delete the folder",
        "check the network cable", "save your work", "select a language",
    ),
    "then": (
        "the window closes", "an error message appears", "all settings are lost", "you can continue", "nothing happens",
        "the light turns red", "your password expires", "the download starts",
    ),
}  # fmt: skip
_PLAIN = (
    "{who} {did} {when}.",
    "{who} {did} {where}.",
    "{when_c}, {who_l} {did} {where}.",
    "I think {thing} is {quality}.",
    "Is {thing} really {quality}?",
    "Nobody told me that {thing} {where} was {quality}.",
    "It is {number} {unit} from here to the station.",
    "{who} said that {thing} was {quality}, but I do not believe it.",
    "If you {act}, {then}.",
    "Please {act} before {then}.",
    "How many {unit} do we need for {thing}?",
    "Why did {who_l} say that {thing} is {quality}?",
)
_SHIFTED = (
    "{body} {said} on {topic} {when}.",
    "According to {body_l}, {topic} will cost {number} {unit} a year.",
    "lol {who_l} totally {did} {when}, no idea why tbh",
    "{thing_c} iz {quality} imho, u should {act}!!!",
    "WARNING: {act} NOW, otherwise {then} (see section {number}).",
    "{body} {said} {when}, while {who_l} claimed that {thing} was {quality}.",
    "{topic_c}: {number} {unit}, {where}, {when}.",
    "{who} neither {did} nor cared about {topic}, let alone {thing}.",
)

_NOVELS = (
    "It is a truth universally acknowledged, that a single man in possession of a good fortune, must be in want of a "
    "wife.",
    "This truth is so well fixed in the minds of the surrounding families, that he is considered as the rightful "
    "property of some one or other of their daughters.",
    "Mr. Bennet made no answer.",
    "You want to tell me, and I have no objection to hearing it.",
    "She was a woman of mean understanding, little information, and uncertain temper.",
    "The business of her life was to get her daughters married; its solace was visiting and news.",
    "Vanity and pride are different things, though the words are often used synonymously.",
    "In vain have I struggled.",
    "You must allow me to tell you how ardently I admire and love you.",
    "Alice was beginning to get very tired of sitting by her sister on the bank, and of having nothing to do.",
    "There was nothing so very remarkable in that.",
    "In another moment down went Alice after it, never once considering how in the world she was to get out again.",
    "Either the well was very deep, or she fell very slowly.",
    "She generally gave herself very good advice, though she very seldom followed it.",
    "Why is a raven like a writing-desk?",
    "Would you tell me, please, which way I ought to go from here?",
    "That depends a good deal on where you want to get to.",
    "Begin at the beginning, and go on till you come to the end: then stop.",
    "It was the best of times, it was the worst of times, it was the age of wisdom, it was the age of foolishness.",
    "Marley was dead: to begin with.",
    "There is no doubt whatever about that.",
    "He was a tight-fisted hand at the grindstone, Scrooge!",
    "It is a far, far better thing that I do, than I have ever done.",
    "Now, what I want is, Facts.",
    "Teach these boys and girls nothing but Facts.",
    "My father's family name being Pirrip, and my Christian name Philip, my infant tongue could make of both names "
    "nothing longer or more explicit than Pip.",
    "To Sherlock Holmes she is always the woman.",
    "I have seldom heard him mention her under any other name.",
    "You see, but you do not observe.",
    "It is a capital mistake to theorize before one has data.",
    "When you have eliminated the impossible, whatever remains, however improbable, must be the truth.",
    "There is nothing more deceptive than an obvious fact.",
    "It has long been an axiom of mine that the little things are infinitely the most important.",
    "Mr. Holmes, they were the footprints of a gigantic hound!",
    "Call me Ishmael.",
    "I thought I would sail about a little and see the watery part of the world.",
    "Better sleep with a sober cannibal than a drunken Christian.",
    "It is not down in any map; true places never are.",
    "You will rejoice to hear that no disaster has accompanied the commencement of an enterprise which you have "
    "regarded with such evil forebodings.",
    "It was on a dreary night of November that I beheld the accomplishment of my toils.",
    "Beware; for I am fearless, and therefore powerful.",
    "Nothing is so painful to the human mind as a great and sudden change.",
    "You don't know about me without you have read a book by the name of The Adventures of Tom Sawyer; but that ain't "
    "no matter.",
    "That book was made by Mr. Mark Twain, and he told the truth, mainly.",
    "There was things which he stretched, but mainly he told the truth.",
    "All right, then, I'll go to hell.",
    "No one would have believed in the last years of the nineteenth century that this world was being watched keenly.",
    "The chances of anything coming from Mars are a million to one.",
    "The Time Traveller was expounding a recondite matter to us.",
    "There is no intelligence where there is no change and no need of change.",
)  # fmt: skip


def plain(count: int = 280, seed: int = 0) -> list[str]:
    """Return short sentences of everyday English without repetition."""
    return _composed(_PLAIN, count, seed)


def shifted(count: int = 90, seed: int = 1) -> list[str]:
    """Return sentences of novels, and composed ones in the style of news, chats and manuals, without repetition."""
    return [*_NOVELS, *_composed(_SHIFTED, count, seed)]


def _composed(templates: tuple[str, ...], count: int, seed: int) -> list[str]:
    draw = np.random.default_rng(seed)
    sentences: dict[str, None] = {}
    while len(sentences) < count:
        parts = {name: values[draw.integers(len(values))] for name, values in _PARTS.items()}
        forms = {f"{name}_c": text[0].upper() + text[1:] for name, text in parts.items()}
        forms |= {f"{name}_l": _inside(text) for name, text in parts.items()}
        sentences[templates[len(sentences) % len(templates)].format(**parts, **forms)] = None
    return list(sentences)


def _inside(text: str) -> str:
    """Return the beginning of a sentence in lower case, for use within a sentence."""
    return text[0].lower() + text[1:]
