"""The Python Array API standard on Tensors: what it asks for beyond the functions of
`gradtape.numpy`.
"""
