"""What a file is, whether a platform takes it, and how it is made to fit.

Arrives: bytes that somebody gave. Leaves: `FileFacts`, or `FileRefused` with a reason for a person; for a platform's
`MediaRules` a variant, or why there is none. What must stay true: what a file is, its bytes decide, not its name;
size and pixels are looked at before anything is decoded; nothing about where and with what a picture was taken
leaves the library. Knows no database, no tenant and no platform by name.
"""
