"""Publishing in two steps: a container is built from links and a text, and then made public by its id.

No platform is named in here. What a container is made of, and how its state is told, is a platform's own
`ContainerApi`; when one is built, awaited, built anew or looked for is the same for all.
"""
