"""Text of before Unicode: the encoding is found from the bytes, so that what is decoded is what was written."""

from __future__ import annotations

import os

import pytest

from foundation.charset import codec_of, detect_encoding

TEXTS = {
    "fr": "Le café était très bon, déclara-t-elle. L’élève a reçu une ordonnance à l’hôpital après l’été.",
    "de": (
        "Die Ärztin prüft täglich die Blutwerte der Patienten. Größe, Gewicht und Übelkeit werden im Formular erfasst."
    ),
    "es": ("El médico recetó una inyección después del análisis. ¿Cuándo volverá el niño al hospital mañana?"),
    "pt": ("A medicação não deve ser tomada em jejum. A coração e a pressão são avaliados três vezes por semana."),
    "sv": ("Läkaren skrev ut medicin mot högt blodtryck. Kvällsdosen får inte överstiga två tabletter på sjukhuset."),
    "pl": (
        "Pacjent powinien przyjmować lek dwa razy dziennie. Proszę zgłosić się do przychodni, jeś"
        "li gorączka się utrzymuje. Źródło zakażenia jest nieznane, więc należy zachować ostrożność."
    ),
    "cs": (
        "Pacient musí užívat léky každý den ráno. Pokud se příznaky zhorší, obraťte se na nejbliž"
        "ší nemocnici. Žádné vedlejší účinky nebyly hlášeny."
    ),
    "hu": (
        "A betegnek naponta kétszer kell bevennie a gyógyszert. Ha a tünetek rosszabbodnak, fordu"
        "ljon a legközelebbi kórházhoz. Az őszi időszakban különösen fontos a gyűjtés."
    ),
    "ru": (
        "Пациент должен принимать лекарство два раза в день. Если температура не снижается, обрат"
        "итесь к врачу. Анализ крови сдают утром натощак."
    ),
    "uk": (
        "Пацієнт повинен приймати ліки двічі на день. Якщо температура не знижується, зверніться "
        "до лікаря. Її призначення є обов'язковим."
    ),
    "el": (
        "Ο ασθενής πρέπει να παίρνει το φάρμακο δύο φορές την ημέρα. Αν ο πυρετός επιμένει, επικο"
        "ινωνήστε με τον γιατρό σας."
    ),
    "tr": (
        "Hasta ilacı günde iki kez almalıdır. Ateş düşmezse doktorunuza başvurun. Şikâyetler geçm"
        "ezse hastaneye gidiniz, çünkü ağır hastalık işareti olabilir."
    ),
    "he": (
        "המטופל צריך ליטול את התרופה פעמיים ביום. אם החום אינו יורד יש לפנות לרופא המטפל. בדיקת דם נעשית בבוקר בצום."
    ),
    "ar": (
        "يجب على المريض تناول الدواء مرتين في اليوم. إذا استمرت الحمى فاتصل بالطبيب المعالج. يجرى تحليل الدم في الصباح."
    ),
    "th": "ผู้ป่วยควรรับประทานยาวันละสองครั้ง หากไข้ไม่ลดลงให้ไปพบแพทย์ การตรวจเลือดทำในตอนเช้า",
    "lt": (
        "Pacientas turi vartoti vaistus du kartus per dieną. Jei karščiavimas tęsiasi, kreipkitės"
        " į gydytoją. Šią savaitę būtina atlikti kraujo tyrimą."
    ),
    "ja": "患者は一日に二回薬を服用してください。熱が下がらない場合は医師に相談してください。",
    "zh": "患者应每天服用两次药物。如果发烧持续不退，请联系您的医生。血液检查应在早晨空腹时进行。",
    "zht": "患者應每天服用兩次藥物。如果發燒持續不退，請聯絡您的醫生。血液檢查應在早晨空腹時進行。",
    "ko": "환자는 하루에 두 번 약을 복용해야 합니다. 열이 내리지 않으면 의사와 상담하십시오.",
    "en": "The patient takes 5 µg — “twice daily” – at 38 °C. The clinic’s fee is £20 or €25.",
}
LEGACY = {
    "fr": ["cp1252", "iso8859-15", "mac_roman", "cp850"],
    "de": ["cp1252", "mac_roman", "cp850", "cp437"],
    "es": ["cp1252", "cp850"],
    "pt": ["cp1252"],
    "sv": ["cp1252", "cp850"],
    "pl": ["cp1250", "iso8859-2"],
    "cs": ["cp1250", "iso8859-2"],
    "hu": ["cp1250", "iso8859-2"],
    "ru": ["cp1251", "koi8-r", "cp866", "iso8859-5", "mac_cyrillic"],
    "uk": ["cp1251", "koi8-u"],
    "el": ["cp1253", "iso8859-7"],
    "tr": ["cp1254"],
    "he": ["cp1255"],
    "ar": ["cp1256"],
    "th": ["cp874"],
    "lt": ["cp1257"],
    "ja": ["cp932", "euc_jp", "iso2022_jp"],
    "zh": ["gb18030", "gbk", "gb2312", "hz"],
    "zht": ["big5"],
    "ko": ["cp949", "euc_kr", "iso2022_kr"],
    "en": ["cp1252"],
}
UNICODE = ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-32-be"]
SHORT = [
    "Dose 5 µg daily",
    "Temp 38 °C",
    "café",
    "naïve résumé",
    "Müller",
    "price £5",
    "3 €",
    "José Ñandú",
    "it’s — fine…",
]


@pytest.mark.parametrize("language", TEXTS)
def test_a_text_is_read_as_it_was_written(language: str) -> None:
    wrong = []
    for encoding in LEGACY[language] + UNICODE:
        for repeated in (1, 20):
            text = (TEXTS[language] + "\n") * repeated
            text = text.encode(encoding, errors="ignore").decode(encoding)
            found = detect_encoding(text.encode(encoding))
            if found is None or text.encode(encoding).decode(found).lstrip("\ufeff") != text.lstrip("\ufeff"):
                wrong.append((encoding, repeated, found))
    assert wrong == []


@pytest.mark.parametrize("text", SHORT)
def test_a_few_western_words_are_windows_1252(text: str) -> None:
    assert text.encode("cp1252").decode(detect_encoding(text.encode("cp1252")) or "") == text


def test_bytes_that_are_no_text_are_none() -> None:
    assert {detect_encoding(os.urandom(400 + i)) for i in range(50)} == {None}
    assert detect_encoding(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + bytes(40)) is None


def test_names_are_understood_as_browsers_do() -> None:
    assert codec_of(" ISO-8859-1 ") == "cp1252"
    assert codec_of("x-sjis") == codec_of("Shift_JIS") == "cp932"
    assert codec_of("gb2312") == "gb18030"
    assert codec_of("rot13") is None
    assert codec_of("no-such-thing") is None
